"""What the schedule would find to do; a project in which nothing is due gets no operation."""

import datetime
import uuid
from typing import Any

from django.conf import settings
from django.db import connection

from memories.models import Namespace
from memories.models.enums import Tier
from memories.models.sql import fetch
from memories.upkeep.lifecycle import archival, compaction, tiers
from memories.upkeep.lifecycle.capacity import capacities
from memories.upkeep.lifecycle.eviction import excesses
from memories.upkeep.thresholds import Thresholds, thresholds_of


def due(project_id: uuid.UUID, *, now: datetime.datetime) -> list[str]:
    """Return the kinds of jobs that have something to do now, in the order in which they are best done."""
    place = {"project": project_id, "namespace": None, "tier": None}
    own = thresholds_of(project_id)
    ages: dict[str, Any] = {"now": now} | {
        level: now - datetime.timedelta(days=days) for level, days in own.compaction_days.items()
    }
    put_away = now - datetime.timedelta(days=settings.PUT_AWAY_DAYS)
    steps = {"warm_days": own.warm_days, "cold_below": own.cold_below, "promote_at": tiers.PROMOTE_AT}
    found = {
        "tier": _any(tiers.MOVES, {**place, **steps, **own.rates.params, "now": now}) or _too_large(project_id),
        "archive": _any(f"SELECT 1 {archival.DUE}", {**place, "before": put_away}),
        "compact": _any(compaction.PAGE, {**place, **ages, "after": uuid.UUID(int=0)}),
        "evict": bool(excesses(project_id)),
    }
    return [kind for kind, there_is in found.items() if there_is]


def count_due(namespace: Namespace, wanted: Thresholds, *, now: datetime.datetime) -> tuple[int, int, int]:
    """Return how many of a namespace these would make cold and shorten, and how many of its project evict."""
    place = {"project": namespace.project_id, "namespace": namespace.id, "tier": None, "now": now}
    steps = {"warm_days": wanted.warm_days, "cold_below": wanted.cold_below, "promote_at": tiers.PROMOTE_AT}
    ages = {level: now - datetime.timedelta(days=days) for level, days in wanted.compaction_days.items()}
    moves = fetch(tiers.MOVES, {**place, **steps, **wanted.rates.params})
    ((_, _, shortened),) = fetch(compaction.COUNTS, {**place, **ages})
    evicted = max(capacity.excess()[0] for capacity in capacities(namespace.project_id, wanted).values())
    return sum(there == Tier.COLD for _, _, there in moves), shortened, evicted


def _too_large(project_id: uuid.UUID) -> bool:
    held = tiers.sizes(project_id)
    return any(held[name] > most * tiers.GIGA for name, most in settings.TIER_GB.items())


def _any(question: str, values: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS ({question})", values)
        return bool(cursor.fetchone()[0])
