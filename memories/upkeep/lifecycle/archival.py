"""Archival: what lay archived for a year leaves for the archive, and due copies expire (docs/spec.md §7)."""

import datetime
import uuid
from collections.abc import Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from django.conf import settings

from memories import access
from memories.access import Principal
from memories.models import Archive, Operation
from memories.models.enums import CopyReason, EvictionReason
from memories.models.fragment import BY_HAND, BY_PERSON
from memories.models.sql import fetch
from memories.operations import BadOptions, Options, Progress
from memories.upkeep.failures import SetAside
from memories.upkeep.lifecycle.removal import BATCH, Cause, lock_fragments, remove_fragments
from memories.upkeep.protections import USERS_OWN

MOST_TOLD = 1000
EXPIRED_AT_ONCE = 1000

# A claim with a period is history that people ask for: it stays until it is forgotten. So does what is kept on purpose,
# what a person has to decide on, and what the user said where no person and no later word of theirs put it here.
DUE = f"""
    FROM memories_fragment f
    WHERE f.project_id = %(project)s AND (%(namespace)s::uuid IS NULL OR f.namespace_id = %(namespace)s)
        AND f.status = 'archived' AND f.updated_at <= %(before)s AND NOT f.is_pinned AND NOT f.is_anchor
        AND NOT (f.authority >= {USERS_OWN} AND f.archived_reason IN ('decayed', 'digested'))
        AND NOT EXISTS (SELECT FROM memories_claim c WHERE c.project_id = f.project_id AND c.fragment_id = f.id
            AND (c.valid_from IS NOT NULL OR c.valid_until IS NOT NULL))
        AND NOT EXISTS (SELECT FROM conflicts_pendingconflict p WHERE p.project_id = f.project_id
            AND p.resolved_at IS NULL AND p.newcomer_id = f.id)
        AND NOT EXISTS (SELECT FROM conflicts_pendingconflict p WHERE p.project_id = f.project_id
            AND p.resolved_at IS NULL AND p.existing_id = f.id)
"""
WHO = "SELECT f.id, f.superseded_by_id, f.archived_reason"
PAGE = f"{WHO} {DUE} AND f.id > %(after)s ORDER BY f.id LIMIT {BATCH}"
STILL = f"{WHO} {DUE} AND f.id = ANY (%(ids)s) ORDER BY f.id"


def check_putting_away(options: Options) -> None:
    """Raise BadOptions unless there are none: PUT_AWAY_DAYS is a setting."""
    if options:
        raise BadOptions("options", "This job takes none.")


def archive_old(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Move what lay archived for PUT_AWAY_DAYS to the archive, a tombstone for each; the report counts them.

    A dry run tells the ids of the first thousand.
    """
    now = operation.started_at or operation.created_at
    before = now - datetime.timedelta(days=settings.PUT_AWAY_DAYS)
    params = {"project": operation.project_id, "namespace": operation.namespace_id, "before": before}
    after, done, aside = uuid.UUID(int=0), operation.done, SetAside("archive")
    with access.enter(principal, why="put away"):
        ((total,),) = fetch(f"SELECT count(*) {DUE}", params)
        if operation.dry_run:
            rows = fetch(f"{WHO} {DUE} ORDER BY f.id LIMIT {MOST_TOLD}", params)
            return {"would_put_away": total, "ids": [str(row[0]) for row in rows]}
    while True:
        with access.enter(principal, why="put away"):
            page = fetch(PAGE, {**params, "after": after})
            if not page:
                return {"put_away": done, **aside.report()}
            after = page[-1][0]
            held = lock_fragments(principal.project_id, [row[0] for row in page])
            done += aside.together(
                fetch(STILL, {**params, "ids": held}), partial(_put_away, operation, now), name=itemgetter(0)
            )
            progress.save(stage="put away", done=done, total=operation.done + total)
        progress.check()


def _put_away(operation: Operation, now: datetime.datetime, rows: Sequence[tuple[Any, ...]]) -> int:
    causes = {i: _cause(*why) for i, *why in rows}
    remove_fragments(operation.project_id, causes, copied=CopyReason.PUT_AWAY, operation_id=operation.id, now=now)
    return len(causes)


def _cause(successor: uuid.UUID | None, archived_reason: str) -> Cause:
    """Return what a tombstone says: who took its place, that a person put it away, or that it weighed too little."""
    if successor:
        return Cause(EvictionReason.SUPERSEDED, {"by": str(successor), "archived": archived_reason})
    by_hand = archived_reason in (BY_HAND, BY_PERSON)
    reason = EvictionReason.MANUAL_DELETION if by_hand else EvictionReason.LOW_WEIGHT
    return Cause(reason, {"archived": archived_reason})


def expire_copies(principal: Principal, *, now: datetime.datetime) -> int:
    """Delete the copies whose time is over; how many. What they held can't come back any more."""
    deleted = 0
    while True:
        with access.enter(principal, why="retention"):
            rows = Archive.objects.within(principal.project_id)
            due = rows.filter(expires_at__lte=now).order_by("expires_at").values_list("id", flat=True)
            ids = list(due[:EXPIRED_AT_ONCE])
            rows.filter(id__in=ids).delete()
        deleted += len(ids)
        if len(ids) < EXPIRED_AT_ONCE:
            return deleted
