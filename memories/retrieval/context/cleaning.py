"""Memory text is data: what it may not do to the block that it stands in. Pure."""

import re

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
# What opens or closes our fence, or a chat template's roles (`<|im_start|>`).
FENCES = re.compile(r"<(?=\s*(?:/\s*)?(?:memory-context|nova-|memory\b|\|))", re.IGNORECASE)
BRACKETS = str.maketrans("[]()", "⟦⟧⟮⟯")


def one_line(text: object) -> str:
    """White space, line breaks included, folded to single spaces; what can't be seen is left out."""
    return SPACE.sub(" ", IDLE.sub("", UNSEEN.sub("", str(text)))).strip()


def unfenced(text: object) -> str:
    """One line in which every tag of ours begins with ‹: nothing in it looks like a fence, whatever its digest."""
    return FENCES.sub("‹", one_line(text))


def fact(text: object) -> str:
    """A caller's words among a line's facts: one line, and no brackets that could look like ours."""
    return unfenced(text).translate(BRACKETS)
