"""Decay: what is hardly relevant any more gets cold, then goes to the archive; what is long replaced does too.

Relevance is worked out from the base each time, base · e^(−.05·days since the last use), and never written.
"""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any

from django.db import connection

from conflicts.bulk_changes import end_waiting_of_many
from memories import access
from memories.models import Fragment, Namespace
from memories.models.enums import ArchivePolicy, Status
from memories.models.scoring import (
    KEPT,
    LAST_USED,
    STABILITY,
    days_since,
    decayed_sql,
    relevance_of,
)
from memories.upkeep.consolidation.plan_state import Outlook
from memories.upkeep.consolidation.steps import Phase, StepDraft
from memories.upkeep.protections import IN_NAMESPACE, IS_BELIEVED, LASTS, STAYS_READABLE, USERS_OWN, is_spared
from memories.upkeep.thresholds import Thresholds

DOUBTED = 0.3
BATCH = 5_000
# Each active memory as it will stand when the merges are done; `gone` besides the merged ones are left out.
FADING = f"""
    WITH yields AS (SELECT * FROM unnest(%(losers)s::uuid[], %(keepers)s::uuid[]) AS t (loser, keeper)),
    gone AS (SELECT unnest(%(gone)s::uuid[]) AS id),
    standing AS (
        SELECT coalesce(y.keeper, f.id) AS id, max(f.base_relevance) AS base,
            max({LAST_USED}) AS used, max({STABILITY}) AS stability,
            max(f.importance) AS importance, bool_or({KEPT}) AS kept, max(f.type) AS type,
            max(f.tier) FILTER (WHERE y.loser IS NULL) AS tier, max(f.authority) AS authority,
            bool_or({IS_BELIEVED} OR f.id = ANY (%(believed)s)) AS believed,
            bool_or(f.category = 'digest') AS digest
        FROM memories_fragment f
        LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
        LEFT JOIN yields y ON y.loser = f.id
        WHERE f.project_id = %(project)s AND f.namespace_id = %(namespace)s
            AND (f.status = 'active' OR f.id = ANY (%(arrived)s))
        GROUP BY 1
    )
    SELECT s.id, s.relevance < %(cold)s AND s.tier <> 'cold' AND NOT s.believed,
        s.relevance < %(faded)s AND s.authority < {USERS_OWN} AND NOT s.believed AND (%(all)s OR (
        s.type = 'episodic' AND NOT {is_spared("s.id", within=IN_NAMESPACE)} AND NOT s.digest
        AND NOT s.id = ANY (%(claiming)s) AND NOT EXISTS (
            SELECT FROM memories_claim c WHERE c.project_id = %(project)s AND c.fragment_id = s.id AND {LASTS}
                AND (c.valid_until IS NULL OR c.valid_until > %(now)s))))
    FROM (SELECT *, {decayed_sql("base", days=days_since("used"), stability="stability")} AS relevance
          FROM standing WHERE NOT kept) s
    WHERE s.relevance < %(cold)s AND NOT EXISTS (SELECT FROM gone WHERE gone.id = s.id)
    ORDER BY s.id
"""
FADED_STILL = f"""
    f.project_id = %(project)s AND f.id = ANY (%(ids)s) AND f.status = 'active' AND NOT {KEPT}
    AND {relevance_of("f")} < %(below)s
"""


def plan(outlook: Outlook) -> None:
    """What gets cold, what goes to the archive, what is pruned."""
    with access.enter(outlook.principal, why="plan"), connection.cursor() as cursor:
        cursor.execute(FADING, _values(outlook))
        found = [row for row in cursor if row[1] or row[2]]
    cooled = [StepDraft(Phase.DECAY, "cool", row[0]) for row in found if row[1]]
    outlook.steps += outlook.wanted(cooled)
    archived = outlook.take(outlook.wanted([StepDraft(Phase.ARCHIVE, "archive", row[0]) for row in found if row[2]]))
    outlook.gone |= {step.fragment for step in archived}
    with access.enter(outlook.principal, why="plan"):
        outlook.take(outlook.wanted([*_superseded(outlook), *_disputed(outlook)]))


def count_fading(namespace: Namespace, wanted: Thresholds, *, now: datetime.datetime) -> int:
    """Return how many memories consolidation would archive for their relevance, in the open transaction."""
    none: dict[str, list[uuid.UUID]] = {
        name: [] for name in ("losers", "keepers", "gone", "arrived", "claiming", "believed")
    }
    below = {"cold": wanted.cold_below, "faded": wanted.archive_below, **wanted.rates.params}
    place: dict[str, Any] = {"project": namespace.project_id, "namespace": namespace.id, "now": now}
    with connection.cursor() as cursor:
        cursor.execute(FADING, {**place, **none, **below, "all": namespace.archive_policy == ArchivePolicy.ALL})
        return sum(archives for _, _, archives in cursor)


def _values(outlook: Outlook) -> dict[str, Any]:
    return {
        "project": outlook.project_id,
        "namespace": outlook.namespace.id,
        "losers": list(outlook.merged),
        "keepers": list(outlook.merged.values()),
        "gone": list(outlook.gone | outlook.waiting),
        "arrived": list(outlook.arrived),
        "claiming": [s.fragment for s in outlook.steps if s.phase == Phase.CONTRADICTIONS],
        "cold": outlook.thresholds.cold_below,
        "faded": outlook.thresholds.archive_below,
        **outlook.thresholds.rates.params,
        "believed": list(outlook.believed),
        "all": outlook.namespace.archive_policy == ArchivePolicy.ALL,
        "now": outlook.now,
    }


def _superseded(outlook: Outlook) -> list[StepDraft]:
    if not outlook.wish.prune_superseded:
        return []
    before = outlook.now - datetime.timedelta(days=outlook.wish.prune_age_days)
    rows = _unprotected(outlook).filter(status=Status.SUPERSEDED, updated_at__lte=before)
    ids = rows.order_by("id").values_list("id", flat=True)
    return [StepDraft(Phase.PRUNE, Status.SUPERSEDED.value, i) for i in ids if i not in outlook.changed]


def _disputed(outlook: Outlook) -> list[StepDraft]:
    rows = _unprotected(outlook).filter(status=Status.DISPUTED).order_by("id")
    doubted = outlook.aside.each(
        (row for row in rows.iterator(chunk_size=BATCH) if row.id not in outlook.changed),
        lambda row: (row.id, row.trust_at(outlook.now) < DOUBTED),
        name=lambda row: row.id,
    )
    return [StepDraft(Phase.PRUNE, Status.DISPUTED.value, i) for i, is_doubted in doubted if is_doubted]


def _unprotected(outlook: Outlook) -> Any:
    rows = Fragment.objects.within(outlook.project_id).filter(namespace=outlook.namespace)
    return rows.filter(is_pinned=False, is_anchor=False)


def move_faded_to_cold(outlook: Outlook, steps: Sequence[StepDraft]) -> list[StepDraft]:
    """Put into the cold tier what is still as faded, in the open transaction; answer the steps that were done."""
    cold = f"UPDATE memories_fragment f SET tier = 'cold' WHERE {FADED_STILL} AND NOT {IS_BELIEVED}"
    return _apply_steps(outlook, steps, cold, below=outlook.thresholds.cold_below)


def archive(outlook: Outlook, steps: Sequence[StepDraft]) -> list[StepDraft]:
    """Archive what is still as faded; answer the steps that were done."""
    put = "status = 'archived', archived_reason = 'decayed', updated_at = %(now)s"
    faded = f"UPDATE memories_fragment f SET {put} WHERE {FADED_STILL} AND NOT {STAYS_READABLE}"
    done = _apply_steps(outlook, steps, faded, below=outlook.thresholds.archive_below)
    _detach_archived(outlook, done)
    return done


def prune(outlook: Outlook, steps: Sequence[StepDraft]) -> list[StepDraft]:
    """Archive what was replaced or disputed; answer the steps that were done."""
    put = "status = 'archived', archived_reason = f.status, updated_at = %(now)s"
    where = "f.project_id = %(project)s AND f.id = ANY (%(ids)s) AND f.status IN ('superseded', 'disputed')"
    done = _apply_steps(outlook, steps, f"UPDATE memories_fragment f SET {put} WHERE {where}")
    _detach_archived(outlook, done)
    return done


def _apply_steps(
    outlook: Outlook, steps: Sequence[StepDraft], statement: str, *, below: float = 0.0
) -> list[StepDraft]:
    if not steps:
        return []
    ids = [step.fragment for step in steps]
    values: dict[str, Any] = {"project": outlook.project_id, "ids": ids, "now": outlook.now, "below": below}
    with connection.cursor() as cursor:
        cursor.execute(f"{statement} RETURNING f.id", {**values, **outlook.thresholds.rates.params})
        found: set[uuid.UUID] = {row[0] for row in cursor}
    return [step for step in steps if step.fragment in found]


def _detach_archived(outlook: Outlook, steps: Sequence[StepDraft]) -> None:
    """Nothing waits because of what is archived, and nothing leads to it but what it came from or became."""
    ids = [step.fragment for step in steps]
    if not ids:
        return
    end_waiting_of_many(outlook.project_id, ids, now=outlook.now)
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM memories_link WHERE project_id = %s AND kind IN ('similar', 'related')
                   AND (fragment_id = ANY (%s) OR other_id = ANY (%s))""",
            [outlook.project_id, ids, ids],
        )
