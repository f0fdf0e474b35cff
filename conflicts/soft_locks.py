"""Soft locks: whoever opens a waiting conflict is named to the other reviewers for ten minutes. It locks nothing."""

import datetime
import uuid
from collections.abc import Collection

from django.db.models import Q

from conflicts.models import Reservation
from memories import access
from memories.access import Principal

LASTS = datetime.timedelta(minutes=10)


def reserve(principal: Principal, conflict_id: uuid.UUID, *, now: datetime.datetime) -> None:
    """Names the principal as the one who looks at it, unless another one does, and no longer as looking at others.

    The caller has seen the conflict (`visible_conflict`), inside `access.enter`.
    """
    with access.enter(principal, why="reserve"):
        everything = Reservation.objects.within(principal.project_id)
        everything.filter(owner_id=principal.owner_id).exclude(conflict=conflict_id).delete()
        rows = everything.filter(conflict=conflict_id)
        mine = {"owner_id": principal.owner_id, "until": now + LASTS}
        if not rows.filter(Q(until__lte=now) | Q(owner_id=principal.owner_id)).update(**mine):
            row = Reservation(project_id=principal.project_id, conflict_id=conflict_id, **mine)
            Reservation.objects.bulk_create([row], ignore_conflicts=True)


def reserved(
    principal: Principal, conflict_ids: Collection[uuid.UUID], *, now: datetime.datetime
) -> dict[uuid.UUID, uuid.UUID]:
    """By conflict, the other owner who looks at it now. Inside `access.enter`."""
    rows = Reservation.objects.within(principal.project_id).filter(conflict__in=conflict_ids, until__gt=now)
    return dict(rows.exclude(owner_id=principal.owner_id).values_list("conflict_id", "owner_id"))
