"""From what is similar to what answers best: fusion of dense and keyword hits, and the ranking profiles. Pure."""

import datetime
import math
import uuid
from collections.abc import Mapping

from conflicts.front import trust_of
from memories.models import Fragment, days_between

BALANCED = {"relevance": 0.40, "confidence": 0.25, "recency": 0.20, "importance": 0.15}  # [3]
RELEVANCE = {"relevance": 1.0, "confidence": 0.0, "recency": 0.0, "importance": 0.0}
PROFILES = {"balanced": BALANCED, "relevance": RELEVANCE}
RECENCY_PER_DAY = 0.01


def fuse(*, cosine: Mapping[uuid.UUID, float], bm25: Mapping[uuid.UUID, float]) -> dict[uuid.UUID, float]:
    """Relevance in 0..1: the mean of both scores, each divided by its best. One side alone counts for itself."""
    parts = [scores for scores in (_scaled(cosine), _scaled(bm25)) if scores]
    ids = {fragment_id for scores in parts for fragment_id in scores}
    return {i: sum(scores.get(i, 0.0) for scores in parts) / len(parts) for i in ids}


def _scaled(scores: Mapping[uuid.UUID, float]) -> dict[uuid.UUID, float]:
    best = max(scores.values(), default=0.0)
    return {i: max(0.0, score) / best for i, score in scores.items()} if best > 0 else {}


def signals(
    fragment: Fragment, *, relevance: float, similarity: float | None, now: datetime.datetime
) -> dict[str, float]:
    """What a score is made of, each 0..1; `similarity` is the raw cosine, where there is a vector."""
    found = {
        "relevance": relevance,
        "confidence": trust_of(fragment, now=now),
        "recency": math.exp(-RECENCY_PER_DAY * days_between(fragment.updated_at, now)),
        "importance": fragment.importance,
    }
    if similarity is not None:
        found["similarity"] = similarity
    return {name: round(value, 4) for name, value in found.items()}


def score(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Σ weight × signal."""
    return round(sum(weight * found[name] for name, weight in weights.items()), 6)
