"""What thresholds and rates would do now to the memories of a namespace; nothing is changed."""

import datetime
from dataclasses import dataclass
from typing import Any

from memories import access
from memories.access import Principal
from memories.models import Fragment, Namespace
from memories.models.scoring import IMPORTANCE_SQL, WEIGHT_SQL, Rates, relevance_sql
from memories.models.sql import fetch
from memories.upkeep import consolidation, lifecycle
from memories.upkeep.thresholds import Thresholds, thresholds_of

# Of a namespace the tenth that eviction would take first is looked at, and so many at the most.
MOST_LEAVING = 1_000
AVERAGES = f"""
    SELECT coalesce(avg({relevance_sql()}), 0), coalesce(avg({WEIGHT_SQL}), 0), coalesce(avg({IMPORTANCE_SQL}), 0)
    FROM memories_fragment f
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
    WHERE f.project_id = %(project)s AND f.namespace_id = %(namespace)s AND f.status = 'active'
"""


@dataclass(frozen=True, slots=True)
class Averages:
    """Of the active memories of a namespace; `importance` is what they would get if they came now without one."""

    relevance: float
    weight: float
    importance: float


@dataclass(frozen=True, slots=True)
class ThresholdPreview:
    """How many of the memories of a namespace (`total`) would go which way; `evicted` are the project's.

    `averages` by what is asked about, `former` by what holds; of the `leaving` that eviction would take first from the
    namespace, `others` are not among those that it would take now.
    """

    total: int
    archived: int
    cooled: int
    shortened: int
    evicted: int
    averages: Averages
    former: Averages
    leaving: int
    others: int


def preview_thresholds(
    principal: Principal, namespace: Namespace, wanted: Thresholds, *, now: datetime.datetime
) -> ThresholdPreview:
    """Return what the next consolidation, tiering, compaction and eviction would find to do."""
    with access.enter(principal, why="preview"):
        own = thresholds_of(principal.project_id)
        archived = consolidation.count_fading(namespace, wanted, now=now)
        cooled, shortened, evicted = lifecycle.count_due(namespace, wanted, now=now)
        total = Fragment.objects.within(principal.project_id).filter(namespace=namespace).count()
        place: dict[str, Any] = {"most": min(MOST_LEAVING, max(1, total // 10)), "namespace_ids": [namespace.id]}
        former, leaving = (
            {each.id for each in lifecycle.candidates(principal, now=now, own=by, **place)} for by in (own, wanted)
        )
        averages, before = (_averages(namespace, by.rates, now) for by in (wanted, own))
    others = len(leaving - former)
    return ThresholdPreview(total, archived, cooled, shortened, evicted, averages, before, len(leaving), others)


def _averages(namespace: Namespace, rates: Rates, now: datetime.datetime) -> Averages:
    place = {"project": namespace.project_id, "namespace": namespace.id, "now": now}
    (found,) = fetch(AVERAGES, {**place, **rates.params})
    return Averages(*found)
