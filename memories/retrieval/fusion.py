"""Fusion: two kinds of likeness become one relevance, with the help of cues and of what was said around. Pure.

Each likeness is divided by its best, so that it weighs as much as its best hit stands out: where no rare word is met,
all BM25 scores are alike and the cosine decides; where all cosines are alike, the words do. Each constant with what it
was measured to bring: docs/decisions/0118.
"""

import uuid
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from memories.retrieval.candidates import Candidate, Column
from memories.retrieval.query_features import Cues

# Words find texts about the same things; which of these says what is asked, the vectors tell better.
WORDS = 0.6
# An answer holds few of the words of its question, which the turn before it holds; what follows may still be about it.
WORDS_BEFORE, WORDS_AFTER = 0.4, 0.2
# Turns up to this many characters need their neighbours' words; longer texts the less, the longer they are.
TURN = 200
# A reply goes on about what it replies to, at any length; before a turn, something else may have been spoken of.
MEANING_AFTER = 0.25
# Two turns further the same person goes on: a little of all that makes that turn relevant.
TWO_AWAY = 0.05
# What a cue adds to a likeness of at most 1.
PHRASE, USER, SPEAKER, PERIOD, KEY, TYPE = 0.5, 0.5, 0.3, 0.2, 0.05, 0.02

TALK, NOWHERE = 2**33, -(2**62)  # a turn's number takes 32 bits

Scores = Mapping[uuid.UUID, float]


def fuse(candidates: Sequence[Candidate], *, bm25: Scores, cues: Cues) -> dict[uuid.UUID, float]:
    """Return relevance in 0..1 by id: both likenesses and what the cues add, divided by the best possible.

    Each likeness of a turn is joined by a part of its neighbours'. One side alone counts for itself.
    """
    turns, part = Turns(candidates), _part(candidates)
    said = np.array([bm25.get(c.id, 0.0) for c in candidates])
    meant = np.array([0.0 if c.cosine is None else max(0.0, c.cosine) for c in candidates])
    words = _scaled(turns.joined(said, {-1: part * WORDS_BEFORE, 1: part * WORDS_AFTER}))
    meaning = _scaled(turns.joined(meant, {1: MEANING_AFTER}))
    weight = WORDS if words.any() and meaning.any() else 1.0
    boosts = _cue_boosts(candidates, cues)
    most = weight * words.any() + meaning.any() + boosts.max(initial=0.0)
    scores = weight * words + meaning + boosts
    joined = turns.joined(scores, {-2: TWO_AWAY, 2: TWO_AWAY})
    beside = 2 * TWO_AWAY if (joined != scores).any() else 0.0
    relevance = joined / (most * (1 + beside) or 1.0)
    return dict(zip((c.id for c in candidates), relevance.tolist(), strict=True))


def reranked(relevance: Scores, scores: Scores) -> dict[uuid.UUID, float]:
    """Return a reranker's scores, and of what it did not read the relevance, so that none of it overtakes."""
    if not scores:
        return dict(relevance)
    least = min((scores[i] for i in relevance if i in scores), default=1.0)
    return {i: scores.get(i, least * value) for i, value in relevance.items()}


def best_of(relevance: Scores, further: Scores) -> dict[uuid.UUID, float]:
    """Return the relevance to the question, or to the part of it that is answered better."""
    if not further:
        return dict(relevance)
    return {i: max(value, further.get(i, 0.0)) for i, value in relevance.items()}


def _cue_boosts(candidates: Sequence[Candidate], cues: Cues) -> Column:
    """Return what the cues add to each: they boost, never filter, and count only where they tell candidates apart."""
    named = {c.speaker for c in candidates if c.speaker} & cues.words
    speaker = named if len(named) == 1 else set()
    # Who asks about himself said it himself, more often than somebody told him; what was not said in turns is for both.
    asks = cues.first_person and any(c.is_by_user for c in candidates)
    asks = asks and any(c.is_turn and not c.is_by_user for c in candidates)
    return np.array(
        [
            PHRASE * c.quoted
            + USER * (asks and (c.is_by_user or not c.is_turn))
            + SPEAKER * (c.speaker in speaker)
            + PERIOD * c.in_period
            + KEY * c.on_topic
            + TYPE * (c.type in cues.types)
            for c in candidates
        ]
    )


def _part(candidates: Sequence[Candidate]) -> float:
    """Return how much neighbours' words count: wholly among short turns, less among long texts."""
    lengths = [candidate.length for candidate in candidates if candidate.place]
    return min(1.0, TURN * len(lengths) / sum(lengths)) if lengths else 0.0


class Turns:
    """Where the candidates stand in their conversations, so that scores can be joined by their neighbours'."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        talks: dict[tuple[int, str], int] = {}
        # A number of each, such that the turn before it has the number below; of what is no turn, none beside it.
        self._places = np.array(
            [
                talks.setdefault((c.namespace_id.int, c.conversation_id), len(talks)) * TALK + c.sequence
                if c.conversation_id and c.sequence is not None
                else NOWHERE
                for c in candidates
            ],
            np.int64,
        )
        self._known, self._here = np.unique(self._places, return_inverse=True)

    def joined(self, scores: Column, parts: Mapping[int, float]) -> Column:
        """Return each score with these parts of the best at the places so many turns further on, themselves not."""
        best = np.zeros(len(self._known))
        np.maximum.at(best, self._here, scores)
        return scores + reduce(np.add, (part * self._beside(best, steps) for steps, part in parts.items()))

    def _beside(self, best: Column, steps: int) -> Column:
        """Return of each the best so many turns further on; nothing where none of them stands."""
        wanted = self._places + steps
        found = np.searchsorted(self._known, wanted).clip(max=len(self._known) - 1)
        there: Column = np.where(self._known[found] == wanted, best[found], 0.0)
        return there


def _scaled(scores: Column) -> Column:
    """Return the scores divided by the best; nothing where none is above zero."""
    best = scores.max(initial=0.0)
    return scores / best if best > 0 else np.zeros_like(scores)
