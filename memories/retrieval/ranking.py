"""Ranking: what a candidate's score is made of, and the profiles that put it together. Pure."""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from memories.models.scoring import Rates, trust
from memories.retrieval.candidates import Candidate, Column

Signals = Mapping[str, Column]

BALANCED = {"relevance": 0.40, "confidence": 0.25, "recency": 0.20, "importance": 0.15}
RECENCY_PER_DAY = 0.01
USE = 10  # an access counts a tenth of its logarithm


@dataclass(frozen=True, slots=True)
class Profile:
    """A way of ranking: the signals it needs, and the scores that they make."""

    needs: tuple[str, ...]
    score: Callable[[Signals], Column]


def weighed(weights: Mapping[str, float]) -> Profile:
    """Σ weight × signal."""

    def score(signals: Signals) -> Column:
        return reduce(np.add, (weight * signals[name] for name, weight in weights.items()))

    return Profile(tuple(weights), score)


def hindsight(signals: Signals) -> Column:
    """cosine · e^(−.05·days) · (1 + ln(1 + n)/10), days since the last access."""
    return signals["similarity"] * signals["decay"] * signals["use"]


PROFILES: dict[str, Profile] = {
    "balanced": weighed(BALANCED),
    "hindsight": Profile(("similarity", "decay", "use"), hindsight),
    "weighted": weighed({"similarity": 0.7, "weight": 0.3}),
    "relevance": weighed({"relevance": 1.0}),
}


def _confidence(candidate: Candidate, _: Rates) -> float:
    return trust(
        source=candidate.source,
        corroboration=candidate.corroboration,
        reinforcements=candidate.reinforcements,
        disputes=candidate.disputes,
        age_days=candidate.age,
    )


def _weight(candidate: Candidate, rates: Rates) -> float:
    return rates.effective_weight(
        importance=candidate.importance,
        access_count=candidate.access_count,
        age_days=candidate.age,
        valence=candidate.emotional_valence,
        pinned_or_anchor=candidate.kept,
    )


# What a candidate is worth by itself; `relevance` is the question's.
SIGNALS: dict[str, Callable[[Candidate, Rates], float]] = {
    "confidence": _confidence,
    "recency": lambda candidate, _: math.exp(-RECENCY_PER_DAY * candidate.unchanged),
    "importance": lambda candidate, _: candidate.importance,
    "similarity": lambda candidate, _: candidate.cosine or 0.0,  # the raw cosine, 0 without a vector
    "decay": lambda candidate, rates: rates.decayed(1.0, days=candidate.unread, kept=candidate.kept),
    "use": lambda candidate, _: 1 + math.log1p(candidate.access_count) / USE,
    "weight": _weight,
}
NAMES = ("relevance", *SIGNALS)
# What a source that stands before others adds to the score.
SOURCE = "source"
# A standing instruction of the user: it has a place, whatever its score.
INSTRUCTION = "instruction"
LEAST_STEP = 1e-6  # between two scores


def signals(
    candidates: Sequence[Candidate],
    *,
    rates: Rates,
    relevance: Sequence[float],
    by_meaning: bool = True,
    names: Iterable[str] = NAMES,
) -> dict[str, Column]:
    """Return the signals of these names, to 4 places; by words alone the relevance stands in for the similarity."""
    questions = {"relevance"} if by_meaning else {"relevance", "similarity"}
    columns = {
        name: relevance if name in questions else [SIGNALS[name](each, rates) for each in candidates] for name in names
    }
    # Python's round: numpy's takes the nearest of what it computed, not of what is written.
    return {name: np.array([round(value, 4) for value in column], np.float64) for name, column in columns.items()}


def marks(which: Hashable, *, first: Collection[Hashable], standing: Collection[Hashable]) -> dict[str, float]:
    """Return what a candidate is marked with: its source stands before others, it is a standing instruction."""
    return {name: 1.0 for name, marked in ((SOURCE, first), (INSTRUCTION, standing)) if which in marked}


def lifted(few: Collection[Hashable], scores: Mapping[Any, float], *, behind: int) -> dict[Any, float]:
    """Return the scores with which a few stand right behind so many of the best others, or where they stand anyway."""
    others = sorted((score for which, score in scores.items() if which not in few), reverse=True)
    least = others[min(behind, len(others)) - 1] - LEAST_STEP if others else 0.0
    return {which: max(scores[which], round(least, 6)) for which in few}
