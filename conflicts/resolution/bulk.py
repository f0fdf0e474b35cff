"""Bulk resolution: several decisions at once, each for itself: what one can't do stops no other."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from conflicts.enums import Resolution
from conflicts.models import PendingConflict
from conflicts.resolution.actions import NotApplicable
from conflicts.resolution.decisions import (
    AlreadyResolved,
    Settlement,
    resolve,
    undo,
)
from conflicts.resolution.periods import CannotSplit
from conflicts.search_index import BlockedByErasure
from conflicts.snapshots import CannotUndo
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import NovaError, StaleRevision

REFUSALS = (
    *(NotFound, NotPermitted, AlreadyResolved, StaleRevision, NotApplicable, CannotSplit, CannotUndo),
    BlockedByErasure,
)


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What became of one decision: nothing in the way (`refused` None), or the refusal."""

    conflict_id: uuid.UUID
    refused: NovaError | None = None


def resolve_all(
    principal: Principal, decisions: Sequence[tuple[uuid.UUID, Settlement]], *, now: datetime.datetime
) -> list[BulkOutcome]:
    """Settle each in a transaction of its own, in order. What an earlier one of them settled along is done too."""
    before = _settled(principal, [conflict_id for conflict_id, _ in decisions])
    done: list[uuid.UUID] = []
    outcomes = []
    for conflict_id, settlement in decisions:
        if done and conflict_id not in before and _settled_along(principal, conflict_id, by=done):
            outcomes.append(BulkOutcome(conflict_id))
            continue
        found = _attempt(conflict_id, partial(resolve, principal, conflict_id, settlement, now=now))
        outcomes.append(found)
        if found.refused is None:
            done.append(conflict_id)
    return outcomes


def undo_all(principal: Principal, conflict_ids: Sequence[uuid.UUID], *, now: datetime.datetime) -> list[BulkOutcome]:
    """Take decisions back, each in a transaction of its own, the last first; what comes back with another is done."""
    found = [_attempt(i, partial(undo, principal, i, now=now)) for i in reversed(conflict_ids)]
    came_back = _waiting(principal, conflict_ids) if any(one.refused is None for one in found) else set()
    return [BulkOutcome(one.conflict_id) if one.conflict_id in came_back else one for one in reversed(found)]


def _attempt(conflict_id: uuid.UUID, act: Callable[[], Any]) -> BulkOutcome:
    try:
        act()
    except REFUSALS as error:
        return BulkOutcome(conflict_id, error)
    return BulkOutcome(conflict_id)


def _settled(principal: Principal, conflict_ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    with access.enter(principal, why="resolve"):
        rows = PendingConflict.objects.within(principal.project_id).filter(id__in=conflict_ids)
        return set(rows.filter(resolved_at__isnull=False).values_list("id", flat=True))


def _settled_along(principal: Principal, conflict_id: uuid.UUID, *, by: Sequence[uuid.UUID]) -> bool:
    """Return whether it is over because of these decisions: of the same newcomer, or nothing was left to decide."""
    with access.enter(principal, why="resolve"):
        row = PendingConflict.objects.within(principal.project_id).filter(id=conflict_id).first()
    if row is None or row.resolved_at is None:
        return False
    with_one = (row.before or {}).get("settled_with") in {str(one) for one in by}
    return with_one or row.resolution == Resolution.OBSOLETE


def _waiting(principal: Principal, conflict_ids: Sequence[uuid.UUID]) -> set[uuid.UUID]:
    with access.enter(principal, why="undo"):
        rows = PendingConflict.objects.within(principal.project_id).pending().filter(id__in=conflict_ids)
        return set(rows.values_list("id", flat=True))
