"""The words in which two texts differ."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# A word or a sign, and the space behind it, which does not count.
WORD = re.compile(r"([\w$€£%]+|[^\w\s])(\s*)")
# Pairs of equal words that are compared: a text that says one word a thousand times would take minutes.
MOST = 20_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words; `own` when the other text has others there."""

    text: str
    own: bool


def words_apart(held: str, new: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces: what they share and what only one of them says."""
    left, right = WORD.findall(held), WORD.findall(new)
    ours: list[Piece] = []
    theirs: list[Piece] = []
    for own, (a, b), (c, d) in _runs([word for word, _ in left], [word for word, _ in right]):
        ours += _pieces(left[a:b], own=own)
        theirs += _pieces(right[c:d], own=own)
    return ours, theirs


def _runs(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[bool, tuple[int, int], tuple[int, int]]]:
    """Whether they differ, and from where to where in each; beyond MOST all between what both begin and end with."""
    times = Counter(right)
    if sum(number * times[word] for word, number in Counter(left).items()) <= MOST:
        for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            yield kind != "equal", (a, b), (c, d)
        return
    head = _shared(left, right)
    tail = _shared(left[head:][::-1], right[head:][::-1])
    yield False, (0, head), (0, head)
    yield True, (head, len(left) - tail), (head, len(right) - tail)
    yield False, (len(left) - tail, len(left)), (len(right) - tail, len(right))


def _shared(left: Sequence[str], right: Sequence[str]) -> int:
    """With how many words both begin."""
    pairs = zip(left, right, strict=False)
    return next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def _pieces(words: Sequence[tuple[str, str]], *, own: bool) -> list[Piece]:
    """Return the run; the space behind it belongs to nobody."""
    text = "".join(word + space for word, space in words)
    stripped = text.rstrip()
    return (
        [Piece(part, of) for part, of in ((stripped, own), (text[len(stripped) :], False)) if part]
        if own
        else _whole(text)
    )


def _whole(text: str) -> list[Piece]:
    return [Piece(text, own=False)] if text else []
