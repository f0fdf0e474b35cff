"""Memory text is data: what it may not do to the block that it stands in. Pure."""

import re

from memories.models.enums import SourceClass

SPACE = re.compile(r"\s+")
# Nothing to see there: controls, direction marks, byte order marks, tag characters, fillers and non-characters, in
# which words can hide from a person that a model reads, or turn around what a person reads.
UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b"
    "\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Joiners and emoji selectors shape some scripts and emoji; behind ASCII, or many in a row, they only hide things.
JOINER = "[\u200c\u200d\ufe0e\ufe0f]"
IDLE = re.compile(f"(?<![^\x00-\x7f]){JOINER}+|(?<={JOINER}{{2}}){JOINER}+")
SOURCES = "|".join(SourceClass.values)
MARK, ROLE = "(?:#{1,6}|[-*+•‣–—])", "(?:human|user|assistant|system|developer|tool|model|ai)"
# The beginning of a line that says what the line is: a heading, an item, whose turn it is.
BEGINNING = re.compile(rf"(?:{MARK} )*(?:{MARK}(?= |\Z)|[*_]{{0,3}}{ROLE}[*_]{{0,3}} ?[:：][*_]{{0,3}})", re.IGNORECASE)
TAG = "(?:system|sys|user|human|assistant|developer|tool|function|instructions?)(?:_[a-z]{1,20})?"
# What opens or closes our fence, a chat template's roles (`<|im_start|>`) or a part of a chat.
FENCES = re.compile(
    r"<(?=[\s<]{0,4}(?:/\s*)?(?:memory-context|nova-|memory\b|\|))"
    rf"|<(?=[\s<]{{0,4}}(?:/\s{{0,4}})?{TAG}(?:\s[^<>]{{0,200}})?/?>)|<(?=/?s>)",
    re.IGNORECASE,
)
# What stands in brackets in our labels, and around the instructions of a chat.
BRACKETED = re.compile(
    r"\[(?=\s{0,4}(?:/?\s{0,4}INST\s{0,4}\]|confidence\s+[01][.,]|trigger\s?:|\d{4}-\d\d-\d\d\s·))"
    rf"|\((?=\s{{0,4}}(?:{SOURCES})\s{{0,4}},\s{{0,4}}trust\b)|\]\s{{0,4}}\((?=\s{{0,4}}(?:{SOURCES})\s{{0,4}}[,)])",
    re.IGNORECASE,
)
BRACKETS = str.maketrans("[]()·", "⟦⟧⟮⟯‧")


def one_line(text: object) -> str:
    """White space, line breaks included, folded to single spaces; what can't be seen is left out."""
    return SPACE.sub(" ", _seen(text)).strip()


def quoted(text: object) -> str:
    """Return one line in which nothing looks like a fence, a label or a turn: such beginnings stand in quotes, such
    brackets and tags begin with another sign. Ordinary text is left as it is."""
    lines = (SPACE.sub(" ", line).strip() for line in _seen(text).splitlines())
    joined = " ".join(_in_quotes(line) for line in lines if line)
    return BRACKETED.sub(lambda found: found[0].translate(BRACKETS), FENCES.sub("‹", joined))


def fact(text: object) -> str:
    """Return a caller's words among a line's facts: one line, and no brackets that could look like ours."""
    return quoted(text).translate(BRACKETS)


def _seen(text: object) -> str:
    return IDLE.sub("", UNSEEN.sub("", str(text)))


def _in_quotes(line: str) -> str:
    beginning = BEGINNING.match(line)
    return f"“{beginning[0]}”{line[beginning.end() :]}" if beginning else line
