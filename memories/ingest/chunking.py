"""From a text of any length to pieces that a fragment can hold, and which texts are not worth keeping."""

import re
import unicodedata
from collections.abc import Iterator

LIMIT = 2000
SHORT = 10

LINE_END = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
# Control characters are never shown and NUL and lone surrogates can't be stored.
UNKEEPABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f\ufeff]")
SURROGATE = re.compile("[\ud800-\udfff]")

HEADING = re.compile(r"#{1,6}[ \t]")
FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)[^`~\n]*$", re.MULTILINE)
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


def split(text: str, *, limit: int = LIMIT) -> list[str]:
    """Return the cleaned text in ordered pieces of 1 to `limit` characters; [] for nothing but white space.

    A text within the limit stays whole. A longer one is cut at Markdown headings, and sections beyond the limit at
    paragraphs, lines, sentences, words, characters, the best of these that is in reach. Only white space is lost.
    """
    text = clean(text)
    if len(text) <= limit:
        return [text] if text else []
    return [piece for section in _sections(text, least=limit // 10) for piece in _pieces(section, limit)]


def placed(text: str, *, limit: int = LIMIT) -> list[tuple[int, str]]:
    """Return the pieces of a cleaned text, each with where it begins."""
    found, at = [], 0
    for piece in split(text, limit=limit):
        while text[at].isspace():
            at += 1
        found.append((at, piece))
        at += len(piece)
    return found


def _sections(text: str, *, least: int) -> Iterator[str]:
    """Return the text cut before its headings; sections of less than `least` characters stay with a neighbour."""
    start, offset, fenced = 0, 0, False
    for line in text.splitlines(keepends=True):
        fenced ^= bool(FENCE.match(line))
        if not fenced and HEADING.match(line) and min(offset - start, len(text) - offset) >= max(least, 1):
            yield text[start:offset].strip()
            start = offset
        offset += len(line)
    yield text[start:].strip()


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
