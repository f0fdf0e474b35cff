"""Aliases: the further names of a key, the same for who reads a text and for the gate (docs/spec.md §4).

What stands around a name and changes nothing: articles, possessives, punctuation, words for "as it is now". Whom an
agent works for, called the user. And how a disguised name is known: digits for letters, marks and separators among
them. Only a name that is known is seen through such a disguise, for "user 1" is not "user 2", and C++ is not C; the
same holds for what only a reader makes out: camel case, word order, short forms, synonyms and slips (ADR 0110).
Digests of stored keys depend on all of this: an edit needs a migration that writes them anew.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from conflicts.keys.normalization import canonical_key, visible
from conflicts.keys.slips import is_slip
from memories.language.word_lists import listed

USER = "user"
USER_NAMES = listed("user users customer customers human humans me i myself")
# Whom texts may mean by it as well; claims on a client are of their own, for users have clients.
USERS = (USER, "client")
# Beside the user's name these tell nobody else.
OF_USER = listed("the a an this that our my current present end actual same said")
# Nor do these; but alone, or beside another name, they are somebody else.
LIKE_USER = listed("""
    primary main active verified registered authenticated chat self himself herself themselves
    themself person speaker individual
""")
SIGNED_IN = re.compile(r"\b(?:logged|signed) in\b")
PARTY = r"(?:person|human|individual|one|somebody|someone|whoever)"
APPLIANCE = r"(?:(?:this|the|our|your) )?(?:assistant|app|application|chat|account|service|system|bot|agent|tool)"
TALKS = r"(?:talk|speak|chat)(?:ing|s)?"
DESCRIBED_USER = re.compile(
    r"(?:(?:the|this|our|current|primary|main|active|actual|registered|verified) )*"
    rf"(?:(?:account|acct|profile) (?:holder|owner)s?|(?:holder|owner) of (?:the|this|my|our) (?:account|acct|profile)"
    rf"|{PARTY} (?:who (?:is )?|that (?:is )?|is )?us(?:ing|es) {APPLIANCE}"
    rf"|{PARTY} (?:(?:who|whom|that) )?(?:you|i|we)(?: are|'re| am|'m)?"
    rf" (?:{TALKS} (?:to|with)|helping|assisting|serving)"
    rf"|{PARTY} (?:who (?:is )?|that (?:is )?|is )?{TALKS} (?:to|with) (?:you|me|us|{APPLIANCE}))"
)
ARTICLES = listed("the a an")
OWNERS = listed("the a an this my mine our ours his her their its your user's users' customer's customers' human's")
# What may stand before a noun and changes nothing: so it is now.
PRESENT = listed("new current actual total own updated revised latest present")
# The same around names that are known: the final score of a game is not any score, the final budget is the budget.
SETTLED = PRESENT | listed("final now currently presently confirmed verified official real recent")
SAYS = listed("is are has have")
# Short and other forms of the words of known names.
WRITTEN = {
    "fav": "favorite", "fave": "favorite", "favourite": "favorite", "pref": "preferred",
    "colour": "color", "col": "color", "clr": "color", "hue": "color", "dish": "food", "meal": "food",
    "ceiling": "limit", "cap": "limit", "spend": "spending", "expenditure": "spending", "outlay": "spending",
    "addr": "address", "tel": "telephone", "loc": "location", "lang": "language", "bday": "birthday",
    "mgr": "manager", "acct": "account", "num": "number", "nr": "number", "upper": "max",
}  # fmt: skip
# What "favorite" is also called, before a thing or behind it.
MOST_LIKED = re.compile(
    r"(?:preferred|(?:most|best) (?:liked|loved)|top|go to|number one) (.+)|(.+) (?:of choice|preference)"
)
# Known names as questions and phrases ask for them.
PHRASES = (
    (re.compile(r"where (?:\w+ ){0,3}(?:lives?|living|resides?|residing|based|located|home is)"), "lives in"),
    (
        re.compile(
            r"(?:how much|(?:max |maximum |most )?(?:amount|money|sum|funds)|most)\b(?: \w+){0,5} (?:to )?spend"
        ),
        "budget",
    ),
    (
        re.compile(
            r"(?:(?:must|should|has to|have to|needs? to|to) be )?"
            r"(?:finished|done|completed|submitted|delivered|ready|handed in) (?:by|before)"
        ),
        "deadline",
    ),
)
LINKS = listed("the a an of for on")  # between the words of a name, which may stand in any order
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
ENCODES = frozenset("&%<[")  # without one of these nothing is
ENCODED = re.compile(r"&#?\w{1,31};|(?:%[0-9a-f]{2})+", re.IGNORECASE)
MARKUP = re.compile(r"<(\w+)\b[^<>]*>([^<>]*)</\1\s*>|\[(\w+)\b[^][]*\]([^][]*)\[/\3\]")  # <b>user</b>, [b]user[/b]
# Where the other one is missing; List<b> is a name.
TAG = re.compile(
    r"(?<!\w)<(?:a|b|big|code|div|em|font|i|mark|p|s|small|span|strong|sub|sup|u)\b[^<>]*>|</\w+\s*>|<br\s*/?>"
)
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
BRACKETED = re.compile(r"(.*\w)\W*[(\[{](.*\w)\W*")
NO_LETTER = re.compile(r"[\W_]+")
LEAST = 4  # letters of a name that is known in disguise


@lru_cache(maxsize=20_000)
def subject_key(subject: str) -> str:
    """Return the form in which subjects are compared."""
    plain = _decoded(subject)
    spelling = canonical_key(plain)
    bare = spelling.strip(AROUND)
    if _is_user(spelling) or _is_user(canonical_key(HUMP.sub(" ", plain))):
        return USER
    parts = bare.split()
    while len(parts) > 1 and parts[0] in ARTICLES | {"my"}:
        parts = parts[1:]
    return " ".join(parts) or spelling


def _decoded(text: str) -> str:
    """Return what a text says without the encodings and the markup of web pages and addresses."""
    text = visible(text)
    if ENCODES.isdisjoint(text):
        return text
    while (plain := visible(_without_markup(ENCODED.sub(_character, text)))) != text:
        text = plain
    return text


def _character(code: re.Match[str]) -> str:
    return unquote(html.unescape(code[0]))


def _without_markup(text: str) -> str:
    bare = TAG.sub("", MARKUP.sub(lambda pair: pair[2] or pair[4] or "", text))
    return bare if canonical_key(bare) else text  # markup around nothing is a name like any other


def _is_user(spelling: str) -> bool:
    words = [word.removesuffix("'s").rstrip("'+#") for word in WORD.findall(SIGNED_IN.sub(" ", spelling))]
    named = [word for word in words if word not in OF_USER | LIKE_USER]
    if named and all(word in USER_NAMES or _is_slip_of_user(word) for word in named):
        return True
    if DESCRIBED_USER.fullmatch(" ".join(words)):
        return True
    return skeleton(spelling.strip(AROUND).removesuffix("'s")) in DISGUISED_USER


def _is_slip_of_user(word: str) -> bool:
    return is_slip(word, USER) or is_slip(word, "customer")


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

    def guessed(self, names: tuple[str, ...]) -> str | None:
        """Return the one of some names that a reader takes it for: its words in another order, or with a slip."""
        return _guessed(self.spellings, names)


@lru_cache(maxsize=20_000)
def spelled(predicate: str) -> Spelled:
    """Return what a predicate may mean."""
    written = _decoded(predicate)
    spelling = canonical_key(written)
    owned = _without_owner(_words(spelling))
    present = _without_present(owned)
    plain = _in_singular(present)
    # Only known names are looked for behind these: a user's rating is not any rating.
    counted = [_without(UNITS, words) for words in (owned, present, plain)]
    users = [_of_user(words) for words in (owned, present, plain, *counted)]
    found = dict.fromkeys([spelling, *map(" ".join, (owned, present, plain, *counted, *users))])
    found |= dict.fromkeys(map(" ".join, _made_out(_of_user(owned))))
    if (apart := HUMP.sub(" ", written)) != written:
        found |= dict.fromkeys(map(" ".join, _made_out(_of_user(_without_owner(_words(canonical_key(apart)))))))
    return Spelled(tuple(filter(None, found)) or ("",), " ".join(plain) or spelling, skeleton(spelling))


def _made_out(words: list[str]) -> Iterator[list[str]]:
    """Return what a reader makes of the words of a known name, the most literal first."""
    yield words
    settled = _without(SETTLED, words)
    while len(settled) > 1 and settled[0] in SETTLED | SAYS | ARTICLES:
        settled = settled[1:]
    written = [WRITTEN.get(word, word) for word in settled]
    for read in (settled, written):
        yield read
        yield _in_singular(read)
        yield _without(UNITS, read)
        if liked := MOST_LIKED.fullmatch(" ".join(read)):
            yield ["favorite", *_words(liked[1] or liked[2])]
    for phrase, name in PHRASES:
        if phrase.fullmatch(" ".join(settled)):
            yield name.split()


@lru_cache(maxsize=20_000)
def _guessed(spellings: tuple[str, ...], names: tuple[str, ...]) -> str | None:
    orders, near = _orders(names), _near(names)
    for spelling in spellings:
        words = spelling.split()
        if name := orders.get(_order(words)):
            return name
        vocabulary, forms = near.get(len(words), (frozenset(), {}))
        if sum(word not in vocabulary for word in words) > 1:
            continue
        for other in dict.fromkeys(other for form in _shortened(spelling) for other in forms.get(form, ())):
            if _is_slipped(words, other.split()):
                return other
    return None


def _is_slipped(words: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether one word of a name is mistaken that is long enough for it, or its verb stands without its s."""
    differing = [(one, other) for one, other in zip(words, name, strict=False) if one != other]
    if len(words) != len(name) or len(differing) != 1:
        return False
    ((one, other),) = differing
    return (len(other) > LEAST and is_slip(one, other)) or (len(words) > 1 and f"{one}s" == other == name[0])


def _shortened(text: str) -> Iterator[str]:
    """Return the text, and what one letter less makes of it: two that are a slip apart share one."""
    yield text
    for place in range(len(text)):
        yield text[:place] + text[place + 1 :]


@lru_cache(maxsize=256)
def _near(names: tuple[str, ...]) -> Mapping[int, tuple[Collection[str], Mapping[str, list[str]]]]:
    """Return, by how many words they have, the words of names, and the names by what they are shortened to."""
    found: dict[int, tuple[set[str], dict[str, list[str]]]] = {}
    for name in names:
        vocabulary, forms = found.setdefault(len(name.split()), (set(), {}))
        vocabulary.update(name.split())
        for form in _shortened(name):
            forms.setdefault(form, []).append(name)
    return found


def _order(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(word for word in words if word not in LINKS))


@lru_cache(maxsize=256)
def _orders(names: tuple[str, ...]) -> Mapping[tuple[str, ...], str]:
    """Names of several words, by these in alphabetical order; a member of a team is not a team's member."""
    words = {name: name.split() for name in names}
    return {tuple(sorted(found)): name for name, found in words.items() if len(found) > 1 and not LINKS & set(found)}


@lru_cache(maxsize=256)
def _skeletons(names: tuple[str, ...]) -> Mapping[str, str]:
    found: dict[str, set[str]] = {}
    for name in names:
        if form := skeleton(name):
            found.setdefault(form, set()).add(name)
    return {form: min(written, key=len) for form, written in found.items()}


def skeleton(text: str) -> str | None:
    """Return what is left of a name without marks and separators, letters and digits that look alike as one.

    None for what is too short, or mostly digits.
    """
    bare = text.strip(AROUND)
    bare = bare if bare.isascii() else unicodedata.normalize("NFKD", bare)
    letters = NO_LETTER.sub("", bare.translate(LIKENESS))
    if len(letters) < LEAST or "+" in bare or "#" in bare:
        return None
    return letters if 2 * sum(map(str.isalpha, bare)) + 1 >= len(letters) else None


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
    """Return the last word without the ending of a plural."""
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
