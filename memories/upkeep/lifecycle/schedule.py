"""What the schedule would find to do; a project in which nothing is due gets no operation."""

import datetime
import uuid
from typing import Any

from django.conf import settings
from django.db import connection

from memories.models.scoring import COLD
from memories.upkeep.lifecycle import archival, compaction, tiers
from memories.upkeep.lifecycle.eviction import excesses
from memories.upkeep.protections import protected_from


def due(project_id: uuid.UUID, *, now: datetime.datetime) -> list[str]:
    """Return the kinds of jobs that have something to do now, in the order in which they are best done."""
    place = {"project": project_id, "namespace": None, "tier": None}
    ages: dict[str, Any] = {"now": now} | {
        str(level): now - datetime.timedelta(days=days) for level, days in compaction.DAYS.items()
    }
    put_away = now - datetime.timedelta(days=settings.PUT_AWAY_DAYS)
    steps = {"warm_days": tiers.WARM_DAYS, "cold_below": COLD, "promote_at": tiers.PROMOTE_AT}
    found = {
        "tier": _any(tiers.MOVES, {**place, **steps, "now": now}) or _too_large(project_id),
        "archive": _any(f"SELECT 1 {archival.DUE}", {**place, "before": put_away}),
        "compact": _any(
            compaction.PAGE, {**place, **ages, "after": uuid.UUID(int=0), "spared": protected_from(project_id)}
        ),
        "evict": bool(excesses(project_id)),
    }
    return [kind for kind, there_is in found.items() if there_is]


def _too_large(project_id: uuid.UUID) -> bool:
    held = tiers.sizes(project_id)
    return any(held[name] > most * tiers.GIGA for name, most in settings.TIER_GB.items())


def _any(question: str, values: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS ({question})", values)
        return bool(cursor.fetchone()[0])
