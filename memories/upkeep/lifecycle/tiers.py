"""Tiers: how close at hand a memory is kept, by use, by age and by size.

Up one tier with five accesses since it came into its own; hot → warm after 30 days without one, → cold below a
relevance of .15. A tier that holds too many octets hands its oldest down. What is pinned or an anchor never goes down,
and what is believed more than a document never gets cold.
"""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.utils import timezone

from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.ingest.updates import fragment_for_change
from memories.models import Fragment, Operation
from memories.models.enums import Tier
from memories.models.scoring import KEPT, LAST_USED, days_since, relevance_sql
from memories.models.sql import execute, fetch
from memories.operations import BadOptions, Options, Progress
from memories.upkeep.failures import SetAside
from memories.upkeep.lifecycle.capacity import vector_octets
from memories.upkeep.lifecycle.removal import lock_fragments
from memories.upkeep.protections import IS_BELIEVED, refuse_hiding
from memories.upkeep.thresholds import thresholds_of

PROMOTE_AT: int = settings.TIERING["promote_at"]
MOST_DAYS, MOST_COUNT = 36_500, 1_000_000
BATCH = 2000
COLDER = {Tier.HOT: Tier.WARM, Tier.WARM: Tier.COLD}
GIGA = 10**9

DAYS = days_since(LAST_USED)
SINCE = "coalesce(a.access_count, 0) - coalesce(a.count_at_tier, 0)"
TARGET = f"""CASE
    WHEN NOT {KEPT} AND {relevance_sql()} < %(cold_below)s AND NOT {IS_BELIEVED} THEN 'cold'
    WHEN f.tier = 'cold' AND {IS_BELIEVED} THEN 'warm'
    WHEN f.tier <> 'hot' AND {SINCE} >= %(promote_at)s THEN CASE f.tier WHEN 'cold' THEN 'warm' ELSE 'hot' END
    WHEN NOT {KEPT} AND f.tier = 'hot' AND {DAYS} > %(warm_days)s THEN 'warm'
    ELSE f.tier END"""
FROM = """
    FROM memories_fragment f
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
    WHERE f.project_id = %(project)s AND (%(namespace)s::uuid IS NULL OR f.namespace_id = %(namespace)s)
"""
MOVES = f"SELECT f.id, f.tier, {TARGET} AS target {FROM} AND {TARGET} <> f.tier ORDER BY f.id"
STILL = f"SELECT f.id, f.tier, {TARGET} AS target {FROM} AND f.id = ANY (%(ids)s) AND {TARGET} <> f.tier"
SIZES = """
    SELECT tier, sum(octet_length(content) + %(vectors)s) FROM memories_fragment
    WHERE project_id = %(project)s AND (%(namespaces)s::uuid[] IS NULL OR namespace_id = ANY (%(namespaces)s))
    GROUP BY tier
"""
# The oldest that have to go so that the rest fits.
STAYS = f"({KEPT} OR f.tier = 'warm' AND {IS_BELIEVED})"
TOO_MUCH = f"""
    SELECT id FROM (
        SELECT f.id, {STAYS} AS kept, sum(octet_length(f.content) + %(vectors)s)
            OVER (ORDER BY {STAYS} DESC, {LAST_USED} DESC, f.id) AS upto
        FROM memories_fragment f
        LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
        WHERE f.project_id = %(project)s AND f.tier = %(tier)s
    ) AS newest_first WHERE upto > %(limit)s AND NOT kept ORDER BY id
"""


class TierMismatch(NovaError):
    """The memory is in another tier than the caller thinks."""

    code = "tier_mismatch"


def check_tiering(options: Options) -> None:
    """Raise BadOptions unless they are `warm_days`, `cold_below` (0 to 1) and `promote_at` (accesses)."""
    if unknown := set(options) - {"warm_days", "cold_below", "promote_at"}:
        raise BadOptions(
            "options", f"Unknown: {', '.join(sorted(unknown))}. Known are warm_days, cold_below, promote_at."
        )
    for name, most in (("warm_days", MOST_DAYS), ("promote_at", MOST_COUNT)):
        number = options.get(name, 1)
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise BadOptions("options", f"{name} is a whole number from 1 to {most}.")
    share = options.get("cold_below", 0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise BadOptions("options", "cold_below is a number from 0 to 1.")


def tier(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Move memories up and down; the report counts moves by kind, such as `hot_to_warm`. A dry run only tells them.

    Sizes are the project's, and looked at when the whole project is tiered. After a crash the rest is worked out anew.
    """
    now = operation.started_at or operation.created_at
    params = _asked_of(operation, now)
    with access.enter(principal, why="tier"):
        moves = fetch(MOVES, params)
    text: dict[str, int] = {}
    if operation.dry_run:
        for _, here, there in moves:
            _count(text, here, there)
        return {"moved": len(moves), "moves": text, "too_large": {}}
    done, aside = operation.done, SetAside("tier")
    for start in range(0, len(moves), BATCH):
        with access.enter(principal, why="tier"):
            held = lock_fragments(principal.project_id, [row[0] for row in moves[start : start + BATCH]])
            still = fetch(STILL, {**params, "ids": held})
            moved = aside.together(still, partial(_move, principal.project_id), name=itemgetter(0))
            for _, here, there in moved:
                _count(text, here, there)
            done += len(moved)
            progress.save(stage="tier", done=done, total=operation.done + len(moves))
        progress.check()
    too_large = {} if operation.namespace_id else _fit(principal, progress, done, now, aside)
    return {"moved": done + sum(too_large.values()), "moves": text, "too_large": too_large, **aside.report()}


def _move(project_id: uuid.UUID, moves: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    move(project_id, {row[0]: row[2] for row in moves})
    return moves


def _asked_of(operation: Operation, now: datetime.datetime) -> dict[str, Any]:
    own = thresholds_of(operation.project_id)
    defaults = {"warm_days": own.warm_days, "cold_below": own.cold_below, "promote_at": PROMOTE_AT}
    namespace = {"project": operation.project_id, "namespace": operation.namespace_id}
    return {**defaults, **operation.options, **namespace, **own.rates.params, "now": now}


def _fit(
    principal: Principal, progress: Progress, done: int, now: datetime.datetime, aside: SetAside
) -> dict[str, int]:
    """Hand down the oldest of each tier that holds too much; how many of which."""
    found: dict[str, int] = {}
    for name, below in COLDER.items():
        params = {"project": principal.project_id, "tier": name, "now": now}
        limit = int(settings.TIER_GB[name] * GIGA)
        with access.enter(principal, why="tier"):
            too_large = sizes(principal.project_id)[name] > limit
            most = {"vectors": vector_octets(), "limit": limit}
            ids = [row[0] for row in fetch(TOO_MUCH, {**params, **most})] if too_large else []
        for start in range(0, len(ids), BATCH):
            with access.enter(principal, why="tier"):
                held = [(i, name, below) for i in lock_fragments(principal.project_id, ids[start : start + BATCH])]
                moved = aside.together(held, partial(_move, principal.project_id), name=itemgetter(0))
                found[name] = found.get(name, 0) + len(moved)
                progress.save(stage=f"fit {name}", done=done + sum(found.values()), total=None)
            progress.check()
    return found


def move(project_id: uuid.UUID, targets: Mapping[uuid.UUID, str]) -> None:
    """Set tiers; from here on accesses are counted anew for the next step up."""
    if not targets:
        return
    ids, names = list(targets), list(targets.values())
    execute(
        """UPDATE memories_fragment f SET tier = t.tier FROM unnest(%s::uuid[], %s::text[]) AS t (id, tier)
           WHERE f.project_id = %s AND f.id = t.id""",
        [ids, names, project_id],
    )
    execute(
        "UPDATE memories_access SET count_at_tier = access_count WHERE project_id = %s AND fragment_id = ANY (%s)",
        [project_id, ids],
    )


def move_one(principal: Principal, fragment_id: uuid.UUID, *, here: str, there: str) -> Fragment:
    """Move one fragment from a tier to another; what is believed only its owner or a person makes cold.

    Raise NotFound, NotPermitted, TierMismatch when it is elsewhere.
    """
    with access.enter(principal, why="tier"):
        row = fragment_for_change(principal, fragment_id)
        if row.tier != here:
            raise TierMismatch(f"this memory is {row.tier}, not {here}")
        if there == Tier.COLD:
            refuse_hiding(principal, row, IS_BELIEVED, now=timezone.now())
        if here != there:
            move(principal.project_id, {row.id: there})
            row.tier = there
        return row


def sizes(project_id: uuid.UUID, *, namespace_ids: Sequence[uuid.UUID] | None = None) -> dict[str, int]:
    """Octets of texts and vectors by tier, of all or of some namespaces."""
    places = None if namespace_ids is None else list(namespace_ids)
    rows = fetch(SIZES, {"project": project_id, "vectors": vector_octets(), "namespaces": places})
    return dict.fromkeys(Tier.values, 0) | {name: int(octets) for name, octets in rows}


def _count(text: dict[str, int], here: str, there: str) -> None:
    kind = f"{here}_to_{there}"
    text[kind] = text.get(kind, 0) + 1
