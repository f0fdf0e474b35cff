"""Fusion: two kinds of likeness become one relevance, with the help of cues and of what was said around. Pure.

Each likeness is divided by its best, so that it weighs as much as its best hit stands out: where no rare word is met,
all BM25 scores are alike and the cosine decides; where all cosines are alike, the words do.
"""

import uuid
from collections.abc import Mapping, Sequence

from memories.retrieval.candidates import Candidate, Place
from memories.retrieval.query_features import Cues

# An answer holds few of the words of its question, which the turn before it holds; what follows may still be about it.
WORDS_BEFORE, WORDS_AFTER = 0.4, 0.2
MEANING_BESIDE = 0.15
# Turns up to this many characters need their neighbours to be understood; longer texts the less, the longer they are.
TURN = 200
# What a cue adds to a likeness of at most 1.
PHRASE, SPEAKER, PERIOD, KEY, TYPE = 0.5, 0.1, 0.1, 0.05, 0.02


def fuse(candidates: Sequence[Candidate], *, bm25: Mapping[uuid.UUID, float], cues: Cues) -> dict[uuid.UUID, float]:
    """Relevance in 0..1 by id: the mean of both likenesses and what the cues add, divided by the best possible.

    Each likeness of a turn is joined by a part of its neighbours'. One side alone counts for itself.
    """
    cosine = {c.id: max(0.0, c.cosine) for c in candidates if c.cosine is not None}
    part = _part(candidates)
    words = _scaled(_joined(candidates, bm25, before=part * WORDS_BEFORE, after=part * WORDS_AFTER))
    meaning = _scaled(_joined(candidates, cosine, before=part * MEANING_BESIDE, after=part * MEANING_BESIDE))
    sides = [side for side in (words, meaning) if side]
    named = {c.speaker for c in candidates if c.speaker} & cues.words
    told = {c.id: _told(c, cues, named if len(named) == 1 else set()) for c in candidates}
    most = len(sides) + max(told.values(), default=0.0)
    return {c.id: (sum(side.get(c.id, 0.0) for side in sides) + told[c.id]) / (most or 1.0) for c in candidates}


def _told(candidate: Candidate, cues: Cues, named: set[str]) -> float:
    """What the cues add: they boost and never filter."""
    return (
        PHRASE * candidate.quoted
        + SPEAKER * (candidate.speaker in named)
        + PERIOD * candidate.in_period
        + KEY * candidate.on_topic
        + TYPE * (candidate.type in cues.types)
    )


def _part(candidates: Sequence[Candidate]) -> float:
    """How much neighbours count: wholly among short turns, less among long texts."""
    lengths = [candidate.length for candidate in candidates if candidate.place]
    return min(1.0, TURN * len(lengths) / sum(lengths)) if lengths else 0.0


def _joined(
    candidates: Sequence[Candidate], scores: Mapping[uuid.UUID, float], *, before: float, after: float
) -> dict[uuid.UUID, float]:
    """Each score with a part of those of the turns before and after it."""
    at = {candidate.place: scores.get(candidate.id, 0.0) for candidate in candidates if candidate.conversation_id}
    if not at:
        return dict(scores)

    def lent(place: Place | None) -> float:
        return at.get(place, 0.0) if place else 0.0

    def joined(candidate: Candidate) -> float:
        beside = before * lent(candidate.beside(-1)) + after * lent(candidate.beside(1))
        return scores.get(candidate.id, 0.0) + beside

    return {candidate.id: joined(candidate) for candidate in candidates}


def _scaled(scores: Mapping[uuid.UUID, float]) -> dict[uuid.UUID, float]:
    best = max(scores.values(), default=0.0)
    return {i: score / best for i, score in scores.items()} if best > 0 else {}
