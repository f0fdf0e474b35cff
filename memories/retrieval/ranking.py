"""Ranking: what a candidate's score is made of, and the profiles that put it together. Pure."""

import math
from collections.abc import Callable, Mapping

from conflicts.front import trust
from memories.models import decayed
from memories.retrieval.candidates import Candidate
from memories.weighing import effective_weight

Signals = Mapping[str, float]

BALANCED = {"relevance": 0.40, "confidence": 0.25, "recency": 0.20, "importance": 0.15}  # [3]
RECENCY_PER_DAY = 0.01
USE = 10  # [1]: an access counts a tenth of its logarithm


def weighed(weights: Signals) -> Callable[[Signals], float]:
    """Σ weight × signal."""
    return lambda signals: sum(weight * signals[name] for name, weight in weights.items())


def hindsight(signals: Signals) -> float:
    """cosine · e^(−.05·days) · (1 + ln(1 + n)/10), days since the last access ([1])."""
    return signals["similarity"] * signals["decay"] * signals["use"]


PROFILES: dict[str, Callable[[Signals], float]] = {
    "balanced": weighed(BALANCED),
    "hindsight": hindsight,
    "weighted": weighed({"similarity": 0.7, "weight": 0.3}),  # [4]
    "relevance": weighed({"relevance": 1.0}),
}


def signals(candidate: Candidate, *, relevance: float) -> dict[str, float]:
    """All that the profiles use, to 4 places; `similarity` is the raw cosine, 0 without a vector."""
    found = {
        "relevance": relevance,
        "confidence": trust(
            source=candidate.source,
            corroboration=candidate.corroboration,
            reinforcements=candidate.reinforcements,
            disputes=candidate.disputes,
            age_days=candidate.age,
        ),
        "recency": math.exp(-RECENCY_PER_DAY * candidate.unchanged),
        "importance": candidate.importance,
        "similarity": candidate.cosine or 0.0,
        "decay": decayed(1.0, days=candidate.unread, kept=candidate.kept),
        "use": 1 + math.log1p(candidate.access_count) / USE,
        "weight": effective_weight(
            importance=candidate.importance,
            access_count=candidate.access_count,
            age_days=candidate.age,
            valence=candidate.emotional_valence,
            pinned_or_anchor=candidate.kept,
        ),
    }
    return {name: round(value, 4) for name, value in found.items()}
