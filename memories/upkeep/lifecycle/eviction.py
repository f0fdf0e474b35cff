"""Eviction ([4] task 4.3): a project that is nearly full loses what weighs least; the lowest priority goes first."""

import datetime
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memories import access, weighing
from memories.access import Principal
from memories.models import Operation
from memories.models.raw import fetch
from memories.models.words import CopyReason, EvictionReason, OperationState, Tier
from memories.operations import BadOptions, Options, Progress
from memories.upkeep.lifecycle.capacity import ALL, Capacity, capacities
from memories.upkeep.lifecycle.leaving import BATCH, Cause, hold, leave
from memories.upkeep.relevance import LAST_USED, days_since

PROTECTED_WEIGHT = 0.7
RECENT_HOURS = 24
MOST_TOLD = 1000  # ids in a report
RECENCY, PER_LINK = 0.3, 0.05

# priority = effective weight + .3/(1 + hours since last use/24) + .05·ln(1 + links)
# Postgres refuses a product too small for a float: the factors are kept above.
WEIGHT = f"""greatest(f.importance, 1e-100) * (1 + {weighing.PER_ACCESS} * ln(coalesce(a.access_count, 0) + 1))
    * exp(greatest(-300, -{weighing.DECAY_PER_DAY} * {days_since("f.created_at")}))
    * (1 + {weighing.FEELING} * greatest(abs(f.emotional_valence), 1e-100))
    * CASE WHEN f.is_pinned OR f.is_anchor THEN {weighing.KEPT_ON_PURPOSE} ELSE 1 END"""
HOURS = f"{days_since(LAST_USED)} * 24"
PRIORITY = f"""{WEIGHT} + {RECENCY} / (1 + {HOURS} / {RECENT_HOURS}) + {PER_LINK} * ln(1 + coalesce(l.links, 0))"""
# Who waits for a decision, and whom it is about, stay until a person has seen both; so does what a person chose.
EVICTABLE = f"""
    f.importance < {PROTECTED_WEIGHT} AND NOT f.is_pinned AND NOT f.is_anchor AND f.status <> 'quarantined'
    AND {LAST_USED} <= %(now)s - interval '{RECENT_HOURS} hours'
    AND NOT EXISTS (SELECT FROM conflicts_pendingconflict p WHERE p.project_id = f.project_id
        AND p.resolved_at IS NULL AND p.newcomer_id = f.id)
    AND NOT EXISTS (SELECT FROM conflicts_pendingconflict p WHERE p.project_id = f.project_id
        AND p.resolved_at IS NULL AND p.existing_id = f.id)
    AND NOT EXISTS (SELECT FROM conflicts_ruling r WHERE r.project_id = f.project_id AND r.replaced_by_id IS NULL
        AND r.namespace_id = f.namespace_id AND f.id = ANY (r.chosen_fragments))
"""
CANDIDATES = f"""
    SELECT f.id, f.namespace_id, f.tier, {WEIGHT} AS weight, {PRIORITY} AS priority
    FROM memories_fragment f
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
    LEFT JOIN (SELECT fragment_id, count(*) AS links FROM memories_link WHERE project_id = %(project)s
        GROUP BY fragment_id) AS l ON l.fragment_id = f.id
    WHERE f.project_id = %(project)s AND (%(tiers)s::text[] IS NULL OR f.tier = ANY (%(tiers)s))
        AND (%(namespaces)s::uuid[] IS NULL OR f.namespace_id = ANY (%(namespaces)s)) AND {EVICTABLE}
    ORDER BY priority, f.id LIMIT %(most)s
"""
STILL = f"""
    SELECT f.id FROM memories_fragment f
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
    WHERE f.project_id = %(project)s AND f.id = ANY (%(ids)s) AND {EVICTABLE}
"""


class AlreadyRunning(Exception):
    """Another operation of this kind is at work in the project."""

    code = "already_running"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Who may be evicted: the lower its priority, the sooner."""

    id: uuid.UUID
    namespace_id: uuid.UUID
    tier: str
    effective_weight: float
    priority: float


@dataclass(frozen=True, slots=True)
class Excess:
    """What has to leave: how many of a place, and why."""

    capacity: Capacity
    tier: str | None
    number: int
    reason: EvictionReason


def check_eviction(options: Options) -> None:
    """Raises BadOptions unless they are `tier` (hot, warm or cold) and `target`, the ratio to reach (0 to 1)."""
    if unknown := set(options) - {"tier", "target"}:
        raise BadOptions("options", f"Unknown: {', '.join(sorted(unknown))}. Known are tier and target.")
    if "tier" in options and options["tier"] not in Tier.values:
        raise BadOptions("options", f"tier is one of: {', '.join(Tier.values)}.")
    target = options.get("target", 0)
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 <= target <= 1:
        raise BadOptions("options", "target is a number from 0 to 1.")


def candidates(
    principal: Principal,
    *,
    now: datetime.datetime,
    most: int,
    tier: str | None = None,
    namespace_ids: Sequence[uuid.UUID] | None = None,
) -> list[Candidate]:
    """Who would be evicted first, up to `most` of the tier and the namespaces, by default of all."""
    asked = {
        "project": principal.project_id,
        "now": now,
        "most": most,
        "tiers": [tier] if tier else None,
        "namespaces": None if namespace_ids is None else list(namespace_ids),
    }
    return [Candidate(*row) for row in fetch(CANDIDATES, asked)]


def excesses(project_id: uuid.UUID, *, tier: str | None = None, target: float | None = None) -> list[Excess]:
    """Of the project and of each tier that has a limit; with `tier` of that one, by its own limit or the project's."""
    known = capacities(project_id)
    places: list[tuple[Capacity, str | None]] = [
        (capacity, None if capacity.place == ALL else capacity.place) for capacity in known.values() if capacity.limit
    ]
    if tier:
        places = [(known[tier] if known[tier].limit else known[ALL], tier)]
    found = [Excess(capacity, which, *capacity.excess(target=target)) for capacity, which in places]
    return [excess for excess in found if excess.number]


def evict(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Evicts what is too much, batch by batch: each one copied, buried and deleted in one transaction.

    `options`: see `check_eviction`. A dry run answers whom it would take. The report: `evicted`, `short` (how many were
    to go and are protected), `places`. After a crash the rest is worked out anew. Raises AlreadyRunning.
    """
    now = operation.started_at or operation.created_at
    with access.enter(principal, why="evict"):
        if not operation.dry_run:
            _alone(operation)
        wanted = excesses(principal.project_id, **operation.options)
        plan = [(excess, ids) for excess, ids in _planned(principal, wanted, now=now)]
    told: dict[str, Any] = {"short": sum(excess.number - len(ids) for excess, ids in plan)}
    told["places"] = [_told(excess, ids) for excess, ids in plan]
    total = sum(len(ids) for _, ids in plan)
    if operation.dry_run:
        return {"would_evict": total, "ids": [str(i) for _, ids in plan for i in ids][:MOST_TOLD], **told}
    done, total = operation.done, operation.done + total
    for excess, ids in plan:
        for start in range(0, len(ids), BATCH):
            with access.enter(principal, why="evict"):
                done += _evict(principal, ids[start : start + BATCH], excess, operation, now)
                progress.save(stage=f"evict {excess.capacity.place}", done=done, total=total)
            progress.check()
    return {"evicted": done, **told}


def _planned(
    principal: Principal, wanted: Sequence[Excess], *, now: datetime.datetime
) -> Iterator[tuple[Excess, list[uuid.UUID]]]:
    """Who leaves for which excess: what leaves for the project's leaves its tier too."""
    gone: dict[uuid.UUID, str] = {}
    for excess in wanted:
        here = sum(excess.tier in (None, tier) for tier in gone.values())
        rest = replace(excess, number=max(0, excess.number - here))
        found = candidates(principal, now=now, most=rest.number + here, tier=excess.tier)
        leaving = [each for each in found if each.id not in gone][: rest.number]
        gone |= {each.id: each.tier for each in leaving}
        yield rest, [each.id for each in leaving]


def _told(excess: Excess, ids: list[uuid.UUID]) -> dict[str, Any]:
    capacity = excess.capacity
    told = {"place": capacity.place, "ratio": round(capacity.ratio, 4), "status": capacity.status}
    return {**told, "reason": excess.reason, "to_evict": excess.number, "found": len(ids)}


def _evict(
    principal: Principal, ids: list[uuid.UUID], excess: Excess, operation: Operation, now: datetime.datetime
) -> int:
    """How many of these left: those that are protected by now stay."""
    held = hold(principal.project_id, ids)
    still = [row[0] for row in fetch(STILL, {"project": principal.project_id, "ids": held, "now": now})]
    cause = Cause(excess.reason, {"operation": str(operation.id), "ratio": round(excess.capacity.ratio, 4)})
    leave(
        principal.project_id,
        dict.fromkeys(still, cause),
        copied=CopyReason.EVICTED,
        operation_id=operation.id,
        now=now,
    )
    return len(still)


def _alone(operation: Operation) -> None:
    """Two at once would take twice as much."""
    others = Operation.objects.within(operation.project_id).filter(kind=operation.kind, state=OperationState.RUNNING)
    if others.exclude(id=operation.id).filter(started_at__lte=operation.started_at).exists():
        raise AlreadyRunning("another one of this kind is at work")
