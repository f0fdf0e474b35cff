"""Why: how each hit was found, and what came close and was left out."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memories import access
from memories.access import Principal
from memories.models import Fragment
from memories.retrieval import Stage

MISSES = 10


@dataclass(frozen=True, slots=True)
class HitReason:
    """How a candidate was found: its ranks by meaning and by words, BM25, cosine, and what their fusion made of it."""

    meaning_rank: int | None
    words_rank: int | None
    cosine: float | None
    bm25: float | None
    relevance: float | None
    found_by: list[str]
    # The words of the question that it holds: {term, times, bm25, rank}, what they did for it most first.
    terms: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Missed:
    """A candidate that is no answer, and why."""

    fragment: Fragment
    stage: str
    because: str
    reason: HitReason


def reasons_of(
    principal: Principal, explanation: Mapping[str, Any] | None
) -> tuple[dict[uuid.UUID, HitReason], list[Missed]]:
    """Return by hit, how it was found; and the nearest misses."""
    candidates = (explanation or {}).get("candidates", [])
    reasons = {uuid.UUID(one["id"]): _reason(one) for one in candidates if one["stage"] == Stage.ANSWERED}
    near = [one for one in candidates if one["stage"] != Stage.ANSWERED]
    near.sort(key=lambda one: -(one["relevance"] or 0))
    near = near[:MISSES]
    if not near:
        return reasons, []
    with access.enter(principal, why="console"):
        rows = Fragment.objects.within(principal.project_id).in_bulk([uuid.UUID(one["id"]) for one in near])
    missed = [(rows.get(uuid.UUID(one["id"])), one) for one in near]
    return reasons, [Missed(row, one["stage"], one["reason"], _reason(one)) for row, one in missed if row]


def _reason(one: Mapping[str, Any]) -> HitReason:
    found_by, terms = list(one["found_by"]), list(one["terms"])
    ranks = (one["meaning_rank"], one["words_rank"])
    return HitReason(*ranks, one["cosine"], one["bm25"], one["relevance"], found_by, terms)
