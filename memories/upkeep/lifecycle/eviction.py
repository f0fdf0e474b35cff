"""Eviction: a project that is nearly full loses what weighs least; the lowest priority goes first.

Weaker memories go before stronger ones, and of equals first those of an owner that holds more than its share. What is
protected is protected against equals: it goes where something stronger would have to go in its place.
"""

import datetime
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.conf import settings

from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import Operation
from memories.models.enums import CopyReason, EvictionReason, OperationState, Tier
from memories.models.scoring import KEPT, LAST_USED, WEIGHT_SQL, days_since
from memories.models.sql import fetch
from memories.operations import BadOptions, Options, Progress
from memories.upkeep.failures import SetAside
from memories.upkeep.lifecycle.capacity import ALL, Capacity, capacities
from memories.upkeep.lifecycle.removal import BATCH, Cause, lock_fragments, remove_fragments
from memories.upkeep.protections import IS_CHOSEN, USERS_OWN, is_spared
from memories.upkeep.thresholds import Thresholds, thresholds_of

RECENT_HOURS: int = settings.EVICTION["recent_hours"]
NOBODY = uuid.UUID(int=0)  # who owns what has no owner
MOST_TOLD = 1000  # ids in a report
RECENCY, PER_LINK = 0.3, 0.05

# priority = effective weight + .3/(1 + hours since last use/24) + .05·ln(1 + links)
HOURS = f"{days_since(LAST_USED)} * 24"
PRIORITY = f"""{WEIGHT_SQL} + {RECENCY} / (1 + {HOURS} / {RECENT_HOURS}) + {PER_LINK} * ln(1 + coalesce(l.links, 0))"""
# Who waits for a decision, and whom it is about, stay until a person has seen both; so does what a person chose. What
# the user said leaves by a person or its owner.
EVICTABLE = f"""
    f.authority < {USERS_OWN} AND f.status <> 'quarantined'
    AND NOT EXISTS (SELECT FROM conflicts_pendingconflict p WHERE p.project_id = f.project_id
        AND p.resolved_at IS NULL AND p.newcomer_id = f.id)
    AND NOT EXISTS (SELECT FROM conflicts_pendingconflict p WHERE p.project_id = f.project_id
        AND p.resolved_at IS NULL AND p.existing_id = f.id)
    AND NOT {IS_CHOSEN}
"""
IS_PROTECTED = f"""({KEPT} OR {is_spared()}
    OR {LAST_USED} > %(now)s - interval '{RECENT_HOURS} hours')"""
# Owners that hold more than their share, where there are others.
GREEDY = """
    SELECT owner_id FROM (SELECT owner_id, count(*) AS held, count(*) OVER () AS owners
        FROM memories_fragment WHERE project_id = %(project)s GROUP BY owner_id) AS o
    WHERE owners > 1 AND held > %(share)s
"""
IS_GREEDY = "coalesce(f.owner_id, %(nobody)s) = ANY (%(greedy)s::uuid[])"
# Within an authority: of who holds too much, first what nothing protects; then of the others; their protected last.
SPARED = 3
TURN = f"CASE WHEN {IS_GREEDY} THEN {IS_PROTECTED}::int WHEN {IS_PROTECTED} THEN {SPARED} ELSE 2 END"
HERE = f"""
    f.project_id = %(project)s AND (%(tiers)s::text[] IS NULL OR f.tier = ANY (%(tiers)s))
    AND (%(namespaces)s::uuid[] IS NULL OR f.namespace_id = ANY (%(namespaces)s)) AND {EVICTABLE}
    AND ({IS_GREEDY} OR NOT {KEPT})
"""
FROM = """
    FROM memories_fragment f
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
"""
COUNTS = f"SELECT f.authority, {TURN} AS turn, count(*) {FROM} WHERE {HERE} GROUP BY 1, 2 ORDER BY 1, 2"
CANDIDATES = f"""
    SELECT f.id, f.namespace_id, f.tier, f.authority, {TURN} IN (1, {SPARED}), {WEIGHT_SQL} AS weight,
        {PRIORITY} AS priority {FROM}
    LEFT JOIN (SELECT fragment_id, count(*) AS links FROM memories_link WHERE project_id = %(project)s
        GROUP BY fragment_id) AS l ON l.fragment_id = f.id
    WHERE {HERE} AND f.authority = %(authority)s AND {TURN} = %(turn)s ORDER BY priority, f.id LIMIT %(most)s
"""
STILL = f"""
    SELECT f.id {FROM} WHERE f.project_id = %(project)s AND {EVICTABLE}
        AND (f.id = ANY (%(protected)s) OR f.id = ANY (%(ids)s) AND NOT {IS_PROTECTED})
"""
USERS = f"SELECT count(*) FROM memories_fragment f WHERE f.project_id = %s AND f.authority >= {USERS_OWN}"


class EvictionRunning(NovaError):
    """Another operation of this kind is at work in the project."""

    code = "already_running"


@dataclass(frozen=True, slots=True)
class EvictionCandidate:
    """Who may be evicted: the weaker, the sooner; of equals, the lower its priority."""

    id: uuid.UUID
    namespace_id: uuid.UUID
    tier: str
    authority: int
    # It would be kept, if nothing stronger had to go in its place, or its owner held no more than its share.
    is_protected: bool
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
    """Raise BadOptions unless they are `tier` (hot, warm or cold) and `target`, the ratio to reach (0 to 1)."""
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
    own: Thresholds | None = None,
) -> list[EvictionCandidate]:
    """Return who would be evicted first, up to `most` of the tier and the namespaces, by default of all.

    By the project's own thresholds and rates, or these.
    """
    own = own or thresholds_of(principal.project_id)
    params = {
        "project": principal.project_id,
        "now": now,
        "tiers": [tier] if tier else None,
        "namespaces": None if namespace_ids is None else list(namespace_ids),
        "nobody": NOBODY,
        "greedy": _greedy(principal.project_id, own),
        **own.rates.params,
    }
    found: list[EvictionCandidate] = []
    for authority, turn, number in turns(fetch(COUNTS, params), most):
        rows = fetch(CANDIDATES, {**params, "authority": authority, "turn": turn, "most": number})
        found += [EvictionCandidate(*row) for row in rows]
    return found


def _greedy(project_id: uuid.UUID, own: Thresholds) -> list[uuid.UUID]:
    """Return the owners that hold more than OWNER_SHARE of what the project may, where there are others."""
    share = settings.OWNER_SHARE * own.capacity
    found = fetch(GREEDY, {"project": project_id, "share": share}) if share else []
    return [owner or NOBODY for (owner,) in found]


def turns(counts: Sequence[tuple[int, int, int]], most: int) -> Iterator[tuple[int, int, int]]:
    """Return how many of each (authority, turn) go, in order, of so many that there are; at most `most`.

    What is spared goes only where as much that is stronger would have to go instead.
    """
    for authority, turn, there in sorted(counts):
        if turn == SPARED:
            there = min(there, sum(n for other, when, n in counts if other > authority and when != SPARED))
        number = min(most, there)
        most -= number
        if number:
            yield authority, turn, number


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
    """Evict what is too much, batch by batch: each one copied, buried and deleted in one transaction.

    `options`: see `check_eviction`. A dry run answers whom it would take. The report: `evicted`, `short` (how many were
    to go and are protected) and then `users_own` (how many there are that no eviction takes), `places`.
    After a crash the rest is worked out anew. Raise AlreadyRunning.
    """
    now = operation.started_at or operation.created_at
    with access.enter(principal, why="evict"):
        if not operation.dry_run:
            _require_alone(operation)
        wanted = excesses(principal.project_id, **operation.options)
        plan = list(_planned(principal, wanted, now=now))
    text: dict[str, Any] = {"short": sum(excess.number - len(leaving) for excess, leaving in plan)}
    if text["short"]:
        with access.enter(principal, why="evict"):
            ((text["users_own"],),) = fetch(USERS, [principal.project_id])
    text["places"] = [_candidates_answer(excess, leaving) for excess, leaving in plan]
    total = sum(len(leaving) for _, leaving in plan)
    if operation.dry_run:
        return {"would_evict": total, "ids": [str(c.id) for _, leaving in plan for c in leaving][:MOST_TOLD], **text}
    done, total, aside = operation.done, operation.done + total, SetAside("evict")
    for excess, leaving in plan:
        for start in range(0, len(leaving), BATCH):
            with access.enter(principal, why="evict"):
                still = _still(principal, leaving[start : start + BATCH], now)
                done += aside.together(still, partial(_evict, excess, operation, now), name=lambda i: i)
                progress.save(stage=f"evict {excess.capacity.place}", done=done, total=total)
            progress.check()
    return {"evicted": done, **text, **aside.report()}


def _planned(
    principal: Principal, wanted: Sequence[Excess], *, now: datetime.datetime
) -> Iterator[tuple[Excess, list[EvictionCandidate]]]:
    """Return who leaves for which excess: what leaves for the project's leaves its tier too."""
    gone: dict[uuid.UUID, str] = {}
    for excess in wanted:
        here = sum(excess.tier in (None, tier) for tier in gone.values())
        rest = replace(excess, number=max(0, excess.number - here))
        found = candidates(principal, now=now, most=rest.number + here, tier=excess.tier)
        leaving = [each for each in found if each.id not in gone][: rest.number]
        gone |= {each.id: each.tier for each in leaving}
        yield rest, leaving


def _candidates_answer(excess: Excess, leaving: Sequence[EvictionCandidate]) -> dict[str, Any]:
    capacity = excess.capacity
    values = {"place": capacity.place, "ratio": round(capacity.ratio, 4), "status": capacity.status}
    return {**values, "reason": excess.reason, "to_evict": excess.number, "found": len(leaving)}


def _still(principal: Principal, leaving: Sequence[EvictionCandidate], now: datetime.datetime) -> list[uuid.UUID]:
    """Return those that may leave, held: who has come under protection by now stays."""
    held = set(lock_fragments(principal.project_id, [each.id for each in leaving]))
    protected = [each.id for each in leaving if each.is_protected and each.id in held]
    params = {
        "project": principal.project_id,
        "ids": list(held),
        "protected": protected,
        "now": now,
    }
    return [row[0] for row in fetch(STILL, params)]


def _evict(excess: Excess, operation: Operation, now: datetime.datetime, ids: Sequence[uuid.UUID]) -> int:
    cause = Cause(excess.reason, {"operation": str(operation.id), "ratio": round(excess.capacity.ratio, 4)})
    remove_fragments(
        operation.project_id,
        dict.fromkeys(ids, cause),
        copied=CopyReason.EVICTED,
        operation_id=operation.id,
        now=now,
    )
    return len(ids)


def _require_alone(operation: Operation) -> None:
    """Two at once would take twice as much."""
    others = Operation.objects.within(operation.project_id).filter(kind=operation.kind, state=OperationState.RUNNING)
    if others.exclude(id=operation.id).filter(started_at__lte=operation.started_at).exists():
        raise EvictionRunning("another one of this kind is at work")
