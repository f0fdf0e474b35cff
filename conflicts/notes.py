"""Notes: what people and agents wrote when they disputed, decided or ruled on memories."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F

from conflicts.models import PendingConflict, Ruling, Vote
from memories.models import Namespace


@dataclass(frozen=True, slots=True)
class Note:
    """What was written, on which occasion, and about which memory where it is about one."""

    kind: str
    fragment_id: uuid.UUID | None
    note: str
    at: datetime.datetime


def notes_in(project_id: uuid.UUID, scopes: Sequence[Namespace]) -> list[Note]:
    """Return the notes on what these scopes hold, the oldest first; of a decision and its ruling one."""
    voted = Vote.objects.within(project_id).filter(fragment__namespace__in=scopes).exclude(reason="")
    decided = PendingConflict.objects.within(project_id).filter(namespace__in=scopes).exclude(note="")
    ruled = Ruling.objects.within(project_id).filter(namespace__in=scopes).exclude(note="")
    found = [
        *(Note("vote", row.fragment_id, row.reason, row.created_at) for row in voted),
        *(
            Note("conflict", row.newcomer_id or row.existing_id, row.note, row.resolved_at or row.created_at)
            for row in decided
        ),
        *(Note("ruling", row.fragment_id, row.note, row.decided_at) for row in ruled.exclude(note=F("conflict__note"))),
    ]
    return sorted(found, key=lambda note: note.at)
