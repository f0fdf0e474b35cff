"""Normalization: the one form in which claim keys are compared; no disguise makes another key (docs/spec.md §4).

Sources: Unicode's DerivedCoreProperties.txt (default-ignorable code points), UTS #39 (look-alikes), UAX #15 (NFKC).
"""

import hmac
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain

from conflicts.keys.confusables import LATIN_COMPANY, LETTERS, ONLY_COMPANY

# Default_Ignorable_Code_Point (stable since Unicode 9, unassigned ones included), control and annotation characters.
IGNORABLE = (
    *((0x00, 0x08), (0x0E, 0x1B), (0x7F, 0x84), (0x86, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C)),
    *((0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3)),
    *((0x1D159, 0x1D159), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
INVISIBLE = dict.fromkeys(chain.from_iterable(range(first, last + 1) for first, last in IGNORABLE))
# General categories Pd and Pc, minus signs and dashes by look, and the blank Braille cell.
SEPARATORS = dict.fromkeys(
    map(
        ord,
        "-_\u02d7\u058a\u05be\u1400\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u203f\u2040\u2043\u2054\u2212\u2500\u2501"
        "\u2796\u2800\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32\ufe33\ufe34\ufe4d\ufe4e"
        "\ufe4f\ufe58\ufe63\uff0d\uff3f\U00010ead",
    ),
    " ",
)
QUOTES = dict.fromkeys(map(ord, "\u2018\u2019\u201b\u02b9\u02bb\u02bc\u02bd\u02c8\u2032`\u00b4"), "'")
# Negative circled and negative squared capitals, which NFKC leaves alone.
BADGES = {first + i: chr(ord("a") + i) for first in (0x1F150, 0x1F170) for i in range(26)}
FOLDS = {ord(letter): target for letter, target in LETTERS.items()} | BADGES | QUOTES
ASCII = {code: to for code, to in {**INVISIBLE, **SEPARATORS, **QUOTES}.items() if code < 128}  # all there is to it
COMPANY, ONLY = str.maketrans(LATIN_COMPANY), str.maketrans(ONLY_COMPANY)

MARK = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"  # the blocks of generic combining marks
MARKED = re.compile(f"([^{MARK}]?)([{MARK}]+)")
# Struck through, underlined or enclosed: decoration, not a letter of its own.
OVERLAY = re.compile(r"[\u0331-\u0338\u0347\u20d0-\u20ff]")
MOST_MARKS = 3  # polytonic Greek needs three on one letter; above that it is decoration
LONGEST_RUN = (
    30  # UAX #15, Stream-Safe Text: no writing system needs more; normalising longer runs takes quadratic time
)
SHORT = 64  # characters of what is remembered: names, and the words of questions
NOBODYS = frozenset({"Cn", "Co"})
ASCII_LETTER = re.compile("[A-Za-z]")


def canonical_key(text: str) -> str:
    """`text` as keys are compared: words of folded letters with single spaces between them; maybe empty.

    Case, width, invisible characters, kinds of space, `_` and dashes never matter. Letters of other scripts that look
    like ASCII letters become these; ASCII letters and digits stay apart from each other (l, 1; 0, o), é stays apart
    from e. Idempotent, total, linear.
    """
    return _short_key(text) if len(text) <= SHORT else _key(text)


@lru_cache(maxsize=32_768)
def _short_key(text: str) -> str:
    return _key(text)


def _key(text: str) -> str:
    if text.isascii():
        return " ".join(text.translate(ASCII).lower().split())
    words = visible(text).translate(SEPARATORS).split()
    return " ".join(filter(None, chain.from_iterable(_folded(word).translate(SEPARATORS).split() for word in words)))


def says_something(text: str) -> bool:
    """Return whether anything is left of a key in canonical form."""
    return bool(canonical_key(text))


def digest_of(*parts: str, salt: bytes) -> bytes:
    """Keyed SHA-256 of the parts in UTF-8, each preceded by its length, so that no two lists of parts read the same."""
    return hmac.digest(salt, b"".join(map(_framed, parts)), "sha256")


def digests_of_pairs(pairs: Iterable[tuple[str, str]], *, salt: bytes) -> set[bytes]:
    """`digest_of` of many pairs at once."""
    return {_digest_of_pair(one, other, salt) for one, other in pairs}


@lru_cache(maxsize=32_768)  # the user's keys are looked for with each question
def _digest_of_pair(one: str, other: str, salt: bytes) -> bytes:
    return digest_of(one, other, salt=salt)


def _framed(part: str) -> bytes:
    data = part.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data


def visible(text: str) -> str:
    """`text` in NFKC without what nobody sees; digits of all scripts as ASCII digits. Safe for text of any length.

    Private and unassigned characters have no agreed look and are taken out too.
    """
    if text.isascii():
        return text.translate(INVISIBLE)
    text = "".join(character for character in text if unicodedata.category(character) not in NOBODYS)
    plain = _normalised(text.translate(INVISIBLE), "NFKC").translate(INVISIBLE)
    # Taking something out can bring together what composes.
    return _normalised(re.sub(r"\d", lambda digit: str(unicodedata.decimal(digit[0])), plain), "NFKC")


def _normalised(text: str, form: str) -> str:
    """`text` in the normal form, runs of combining marks cut at 30."""
    kept, run = [], 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= LONGEST_RUN:
            kept.append(character)
    return unicodedata.normalize(form, "".join(kept))  # type: ignore[arg-type]


def _folded(word: str) -> str:
    """Return one word without case, look-alikes and decoration."""
    if word.isascii():
        return word.lower().translate(QUOTES)
    word = unicodedata.normalize("NFKD", word)
    if ASCII_LETTER.search(word):
        word = word.translate(COMPANY)
        bare = word.translate(ONLY)
        word = bare if bare.isascii() else word
    word = unicodedata.normalize("NFKD", word.casefold()).translate(FOLDS)
    return unicodedata.normalize("NFC", MARKED.sub(_modest, word))


def _modest(match: re.Match[str]) -> str:
    """Return a character with those of its marks that make it another letter."""
    base, marks = match[1], OVERLAY.sub("", match[2])
    if base in ("i", "j"):
        marks = marks.replace("\u0307", "")  # their dot again, as in lower-cased Turkish İ
    different = dict.fromkeys(marks)
    return base + "".join(different) if base.isalpha() and len(different) <= MOST_MARKS else base
