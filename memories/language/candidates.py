"""Where names may stand in a text: runs of capitalised words, with what stands around them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memories.language.dates import CALENDAR
from memories.language.gazetteers import ABBREVIATIONS, HEADS_OF_NAMES, KNOWN, PARTICLES, TITLES, WORDY_NAMES
from memories.language.word_lists import NO_NAMES, OPENERS, listed

# A word begins with a letter; apostrophes, hyphens and & may join its parts. "U.S." is one word.
WORD = re.compile(r"(?:[A-Z]\.){2,}|[^\W\d_][^\W_]*(?:['’&-][^\W_]+)*")
CONTRACTED = re.compile(r"(?:n['’]t|['’](?:s|ll|d|re|ve|m))$", re.IGNORECASE)
INLINE_CODE = re.compile(r"`[^`]*`")
CHUNK = re.compile(r"\S+")
FENCE = re.compile(r"\s*(?:```|~~~)")
HEADING = re.compile(r"\s*#{1,6}\s")
# Between two words of one sentence; anything else (a full stop, a quote, an emoji) begins a new one.
WITHIN_SENTENCE = re.compile(r"[\s,;/&()\d]*")
SPEAKS = re.compile(r"\*{0,2}:\*{0,2}\s")
LONGEST_RUN = 6
LONGEST_WORD = 40
LONGEST_NAME = 100
MOST_PARTICLES = 2
TITLE_WORDS = 4
# What makes a title the beginning of something else: General Manager, but not Aunt May.
ROLES_GO_ON = OPENERS - WORDY_NAMES
# Lower-case even in a title.
MINOR_WORDS = listed("a an the of and or in on at to for with by from vs")


class TextWord(NamedTuple):
    """A word of a line, without 's, 'll and the like; `start` and `end` are places in the line.

    It `opens` its sentence or stands `glued` to the word before by one space.
    """

    text: str
    lower: str
    start: int
    end: int
    opens: bool
    glued: bool
    contracted: bool
    dotted: bool
    # Written like a name: Alice, NASA, iPhone, and J. but not A.
    capitalised: bool


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a text, and its words."""

    text: str
    words: list[TextWord]


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """A run of words that may be a name, lower-case and as written (`text`), and the signs around it."""

    text: str
    words: tuple[str, ...]
    opens: bool = False
    titled: bool = False
    speaks: bool = False
    before: tuple[str, str] = ("", "")
    after: str = ""

    @property
    def key(self) -> str:
        """The name as lists have it."""
        return " ".join(self.words)


def sentences(text: str) -> Iterator[TextLine]:
    """Return the lines of a text that have words; code, addresses and links are left out."""
    fenced = False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            prose = _prose(line)
            if words := _words(prose):
                yield TextLine(prose, words)


def _prose(line: str) -> str:
    if "`" in line:
        line = INLINE_CODE.sub(" ", line)
    if "@" in line or "://" in line:
        line = CHUNK.sub(lambda chunk: " " if "@" in chunk.group() or "://" in chunk.group() else chunk.group(), line)
    return line


def _words(line: str) -> list[TextWord]:
    # One loop without further calls, for each word of each text comes through here.
    words: list[TextWord] = []
    end, dotted = 0, False
    for match in WORD.finditer(line):
        whole, start = match[0], match.start()
        gap = line[end:start]
        end = start + len(whole)
        text = whole if whole.isalnum() else CONTRACTED.sub("", whole)
        lower, length = text.lower(), len(text)
        glued = gap == " " or (dotted and gap == ". ")
        opens = not words or not (glued or WITHIN_SENTENCE.fullmatch(gap))
        dotted = line.startswith(".", end) and (length == 1 or lower in ABBREVIATIONS)
        capitalised = (length > 1 or dotted) and lower != text and length <= LONGEST_WORD
        # By place: by name takes half as long again.
        words.append(
            TextWord(
                text, lower.rstrip("."), start, start + length, opens, glued, length < len(whole), dotted, capitalised
            )
        )
    return words


def capitals_tell(line: TextLine) -> bool:
    """Return whether capitals mark names here; not so in headings, Titles Of Things, SHOUTING and all lower case."""
    if line.text.islower() or HEADING.match(line.text) or (len(line.words) >= TITLE_WORDS and line.text.isupper()):
        return False
    if "," in line.text or any(word.opens for word in line.words[1:]):
        return True
    major = [word for word in line.words if word.lower not in MINOR_WORDS]
    return len(major) < TITLE_WORDS or not all(word.capitalised for word in major)


def candidates(line: TextLine) -> Iterator[NameCandidate]:
    """The runs of capitalised words of a line whose capitals tell, without titles and what only begins a sentence."""
    words = line.words
    for start, stop in _runs(words):
        first, titled = _first(words, start, stop)
        name = line.text[words[first].start : words[stop - 1].end] if first < stop else ""
        if name and len(name) <= LONGEST_NAME and words[first].lower not in NO_NAMES:
            yield NameCandidate(
                text=name,
                words=tuple(word.lower for word in words[first:stop]),
                opens=words[first].opens,
                titled=titled,
                speaks=start == 0 and (titled or first == 0) and bool(SPEAKS.match(line.text, words[stop - 1].end)),
                before=_before(words, first),
                after=words[stop].lower if stop < len(words) and not words[stop].opens else "",
            )


def _runs(words: Sequence[TextWord]) -> Iterator[tuple[int, int]]:
    """Start and stop of each run of names in a row, with the particles between them."""
    start = 0
    while start < len(words):
        if not words[start].capitalised:
            start += 1
            continue
        stop = start
        while stop < len(words) and stop - start < LONGEST_RUN and (step := _step(words, start, stop)):
            stop += step
        if stop > start:
            yield start, stop
        start = max(stop, start + 1)


def _step(words: Sequence[TextWord], start: int, at: int) -> int:
    """How many words a run goes on by: 1 for a name, 2 or 3 for particles and the name behind them, 0 at its end."""
    if at > start and (words[at - 1].contracted or not words[at].glued):
        return 0
    particles = 0
    while at > start and particles < MOST_PARTICLES and _binds(words, at, particles):
        particles += 1
    name = at + particles
    if name >= len(words) or not words[name].capitalised or _is_date(words, start, name):
        return 0
    return particles + 1 if particles == 0 or words[name].glued else 0


def _is_date(words: Sequence[TextWord], start: int, at: int) -> bool:
    """Return whether a word is a month or day, and not somebody's name as in Aunt May."""
    return words[at].lower in CALENDAR and not (at > start and words[at - 1].lower in TITLES)


def _binds(words: Sequence[TextWord], at: int, particles: int) -> bool:
    """Whether the word at the place, some particles on, binds names: van, de, and "of" in University of Leeds."""
    if at + particles >= len(words) or not words[at + particles].glued:
        return False
    word = words[at + particles].text
    return word in PARTICLES or (word == "of" and words[at - 1].lower in HEADS_OF_NAMES)


def _first(words: Sequence[TextWord], start: int, stop: int) -> tuple[int, bool]:
    """Return where the name begins in a run, and whether a title stands before it."""
    first = start
    if _known(words, first, stop):
        return first, False
    ordinary = words[first].lower in OPENERS
    if (words[first].opens and ordinary) or ((words[first].opens or ordinary) and _stands_before(words, first, stop)):
        first += 1
    if first == stop or _known(words, first, stop) or words[stop - 1].lower in HEADS_OF_NAMES:
        return first, False
    named = first
    while named < stop and words[named].lower in TITLES:
        named += 1
    if first < named < stop and words[named].lower in ROLES_GO_ON:
        return first, False
    return named, named > first


def _known(words: Sequence[TextWord], start: int, stop: int) -> bool:
    return stop - start > 1 and " ".join(word.lower for word in words[start:stop]) in KNOWN


def _stands_before(words: Sequence[TextWord], first: int, stop: int) -> bool:
    """Return whether an unknown word stands before a name that is complete without it: Remind Alice."""
    if words[first].lower in KNOWN or words[first].lower in TITLES or words[first].dotted:
        return False
    rest = " ".join(word.lower for word in words[first + 1 : stop])
    return rest in KNOWN or (stop - first > 1 and KNOWN.get(words[first + 1].lower) == "person")


def _before(words: Sequence[TextWord], at: int) -> tuple[str, str]:
    """Return the two words before a place, lower-case; "" where the sentence begins."""
    if words[at].opens:
        return "", ""
    if words[at - 1].opens:
        return "", words[at - 1].lower
    return words[at - 2].lower, words[at - 1].lower
