"""From a text of any length to pieces that a fragment can hold, and which texts are not worth keeping."""

import re
import unicodedata
from collections.abc import Iterator

from memories.language.procedures import parts_by_kind
from memories.language.sections import sections
from memories.models import CONTENT_LIMIT

LIMIT = CONTENT_LIMIT
SHORT = 10

LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Control characters are never shown and NUL and lone surrogates can't be stored.
UNKEEPABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufeff]")
SURROGATE = re.compile("[\ud800-\udfff]")

# Where a text may be cut, best first; the cut is at the end of the match.
CUTS = (
    re.compile(r"\n[ \t]*\n\s*"),
    re.compile(r"\n\s*"),
    re.compile(r"""[.!?…]["'”’)\]]{0,3}\s+|[。！？](?=.)"""),
    re.compile(r"\s+"),
)
# Longest run of joined characters that is kept whole; beyond it nobody reads it as one letter.
CLUSTER = 32
ZERO_WIDTH_JOINER = "\u200d"
FLAG_LETTERS = "".join(chr(0x1F1E6 + n) for n in range(26))

EXCUSES = (
    ("error", re.compile(r"error:", re.IGNORECASE)),
    ("apology", re.compile(r"i['’]m sorry\b|i apologize\b", re.IGNORECASE)),
    ("refusal", re.compile(r"i cannot\b|i can['’]t\b", re.IGNORECASE)),
)


def clean(text: str) -> str:
    """Return the text as it is kept: line ends are "\\n", what can't be stored or shown is gone, no space around it."""
    text = LINE_END.sub("\n", text)
    return SURROGATE.sub("\ufffd", UNKEEPABLE.sub("", text)).strip()


def skip_reason(text: str, *, role: str) -> str | None:
    """Return why a message isn't kept: `empty`, `too_short`, for an assistant `error`, `apology`, `refusal`; else None.

    Characters are counted after cleaning.
    """
    text = clean(text)
    if not text:
        return "empty"
    if len(text) < SHORT:
        return "too_short"
    if role != "assistant":
        return None
    return next((reason for reason, opening in EXCUSES if opening.match(text)), None)


def split(text: str, *, limit: int = LIMIT, by_kind: bool = False) -> list[str]:
    """Return the cleaned text in ordered pieces of 1 to `limit` characters; [] for nothing but white space.

    A text within the limit stays whole. A longer one is cut at Markdown headings, and sections beyond the limit at
    paragraphs, lines, sentences, words, characters, the best of these that is in reach. Only white space is lost.
    `by_kind`: instructions and what is none are cut apart at headings first.
    """
    parts = [part.strip() for part in (parts_by_kind(clean(text)) if by_kind else [clean(text)])]
    return [piece for part in parts if part for piece in _cut(part, limit)]


def placed(text: str, *, limit: int = LIMIT, by_kind: bool = False) -> list[tuple[int, str]]:
    """Return the pieces of a cleaned text, each with where it begins."""
    found, at = [], 0
    for piece in split(text, limit=limit, by_kind=by_kind):
        while text[at].isspace():
            at += 1
        found.append((at, piece))
        at += len(piece)
    return found


def _cut(text: str, limit: int) -> Iterator[str]:
    if len(text) <= limit:
        yield text
        return
    for section in sections(text, least=limit // 10):
        yield from _pieces(section.strip(), limit)


def _pieces(text: str, limit: int) -> Iterator[str]:
    """Return the text cut by length, each time at the best place in reach."""
    start = 0
    while (left := len(text) - start) > limit:
        # A last piece too short to be kept by itself gets some of the one before.
        size = min(limit, max(left - SHORT, 1))
        end = start + _chunk_end(text[start : start + size + 1])
        yield text[start:end].rstrip()
        start = end
        while text[start : start + 1].isspace():
            start += 1
    yield text[start:]


def _chunk_end(window: str) -> int:
    """Return how much of the window to take: all but one character, unless that one is white space."""
    for cut in CUTS:
        if places := [match.end() for match in cut.finditer(window, len(window) // 4)]:
            return places[-1]
    return _between_letters(window)


def _between_letters(window: str) -> int:
    """Return the last place in the window that doesn't tear a letter and its marks, or an emoji, apart."""
    last = len(window) - 1
    for end in range(last, max(0, last - CLUSTER), -1):
        if not _joined(window[:end], window[end]):
            return end
    return last


def _joined(before: str, right: str) -> bool:
    """Whether a character is read as one with what is before: accents, joiners, skin tones, second half of a flag."""
    halves = len(before) - len(before.rstrip(FLAG_LETTERS))
    return (
        unicodedata.category(right) in ("Mn", "Mc", "Me")
        or ZERO_WIDTH_JOINER in (before[-1], right)
        or "\U0001f3fb" <= right <= "\U0001f3ff"
        or (right in FLAG_LETTERS and halves % 2 == 1)
    )
