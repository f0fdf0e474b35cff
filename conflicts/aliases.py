"""Aliases: the further names of a key, the same for who reads a text and for the gate (docs/spec.md §4).

What stands around a name and changes nothing: articles, possessives, punctuation, words for "as it is now". Whom an
agent works for, called the user. And how a disguised name is known: digits for letters, marks and separators among
them. Only a name that is known is seen through such a disguise, for "user 1" is not "user 2", and C++ is not C.
Digests of stored keys depend on all of this: an edit needs a migration that writes them anew.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from conflicts.spelling import canonical_key
from memories.language.words import listed

USER = "user"
USER_NAMES = listed("user users customer customers human humans me i myself")
# Whom texts may mean by it as well; claims on a client are of their own, for users have clients.
USERS = (USER, "client")
# Beside the user's name these tell nobody else.
OF_USER = listed("the a an this that our my current end actual same said")
ARTICLES = listed("the a an")
OWNERS = listed("the a an this my mine our ours his her their its your user's users' customer's customers' human's")
# What may stand before a noun and changes nothing: so it is now.
PRESENT = listed("new current actual total own updated revised latest present")
# In what the value behind a noun is counted.
UNITS = listed("usd eur gbp chf jpy dollar dollars euro euros pound pounds amount value figure sum is")
# Behind "user" these are things of accounts, not the user's own.
OF_ACCOUNTS = listed("name count tag label group type id")

AROUND = " .,:;!?\"'()[]{}<>/\\|~^=&@"
WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f'+#])*'?|[+#]+")
# Letters by what else they are written with; what two letters are written with makes them one.
LIKENESS = {
    ord(like): one
    for one, alike in {
        "1": "il!|£",
        "0": "o",
        "3": "e€℮",
        "4": "a@",
        "5": "s$",
        "7": "t",
        "8": "bgq69",
        "2": "z",
        "c": "¢",
    }.items()
    for like in alike
}
NO_LETTER = re.compile(r"[\W_]+")
LEAST = 4  # letters of a name that is known in disguise


@lru_cache(maxsize=20_000)
def subject_key(subject: str) -> str:
    """Return the form in which subjects are compared."""
    spelling = canonical_key(subject)
    words = [word.removesuffix("'s").rstrip("'+#") for word in WORD.findall(spelling)]
    named = [word for word in words if word not in OF_USER]
    if named and set(named) <= USER_NAMES:
        return USER
    bare = spelling.strip(AROUND)
    if skeleton(bare.removesuffix("'s")) in DISGUISED_USER:
        return USER
    parts = bare.split()
    while len(parts) > 1 and parts[0] in ARTICLES | {"my"}:
        parts = parts[1:]
    return " ".join(parts) or spelling


def names_user(name: str) -> bool:
    """Return whether a name means whom the agent works for."""
    return subject_key(name) == USER


@dataclass(frozen=True, slots=True)
class Spelled:
    """A predicate as written: by which spellings it may be known, the most literal first, and its plainest form."""

    spellings: tuple[str, ...]
    plainest: str
    skeleton: str | None

    def seen_through(self, names: Collection[str]) -> str | None:
        """Return the one of some names that it is written like, or None."""
        name = _skeletons(tuple(names)).get(self.skeleton) if self.skeleton and names else None
        # A plural's s is no 5: "pet 5" is one of the pets.
        is_number = name is not None and name.endswith("s") and self.spellings[0].rstrip(AROUND).endswith("5")
        return None if is_number else name


@lru_cache(maxsize=20_000)
def spelled(predicate: str) -> Spelled:
    """Return what a predicate may mean."""
    spelling = canonical_key(predicate)
    owned = _without_owner(_words(spelling))
    present = _without_present(owned)
    plain = _in_singular(present)
    # Only known names are looked for behind these: a user's rating is not any rating.
    counted = [_without(UNITS, words) for words in (owned, present, plain)]
    users = [_of_user(words) for words in (owned, present, plain, *counted)]
    found = dict.fromkeys([spelling, *map(" ".join, (owned, present, plain, *counted, *users))])
    return Spelled(tuple(filter(None, found)) or ("",), " ".join(plain) or spelling, skeleton(spelling))


@lru_cache(maxsize=256)
def _skeletons(names: tuple[str, ...]) -> Mapping[str, str]:
    found: dict[str, set[str]] = {}
    for name in names:
        if form := skeleton(name):
            found.setdefault(form, set()).add(name)
    return {form: min(written, key=len) for form, written in found.items()}


def skeleton(text: str) -> str | None:
    """Return what is left of a name without marks and separators, letters and digits that look alike as one.

    None for what is too short, or has less letters than digits.
    """
    bare = text.strip(AROUND)
    bare = bare if bare.isascii() else unicodedata.normalize("NFKD", bare)
    told = NO_LETTER.sub("", bare.translate(LIKENESS))
    if len(told) < LEAST or "+" in bare or "#" in bare:
        return None
    return told if 2 * sum(map(str.isalpha, bare)) >= len(told) else None


DISGUISED_USER = frozenset(filter(None, map(skeleton, USER_NAMES - {"users", "customers", "humans"})))


def _words(spelling: str) -> list[str]:
    return [word.strip("'") if word != "'" else word for word in WORD.findall(spelling)]


def _without_owner(words: list[str]) -> list[str]:
    while len(words) > 1 and words[0] in OWNERS:
        words = words[1:]
    for tail in (["of", "the", "user"], ["of", "user"]):
        if words[-len(tail) :] == tail and len(words) > len(tail):
            words = words[: -len(tail)]
    return words


def _without_present(words: list[str]) -> list[str]:
    while len(words) > 1 and words[0] in PRESENT:
        words = words[1:]
    return words


def _in_singular(words: list[str]) -> list[str]:
    """The last word without the ending of a plural."""
    last = words[-1] if words else ""
    if len(last) > 4 and last.endswith("ies"):
        return [*words[:-1], f"{last[:-3]}y"]
    if len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is", "'s")):
        return [*words[:-1], last[:-1]]
    return words


def _without(tails: Collection[str], words: list[str]) -> list[str]:
    while len(words) > 1 and words[-1] in tails:
        words = words[:-1]
    return words


def _of_user(words: list[str]) -> list[str]:
    if len(words) > 1 and words[0] in USER_NAMES and not OF_ACCOUNTS & set(words[1:]):
        return words[1:]
    return words
