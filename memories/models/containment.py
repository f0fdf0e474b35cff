"""Containments: what a key, an owner, a source or a text brought in, set aside at once."""

import datetime
import uuid
from collections.abc import Sequence
from typing import ClassVar, Self

from django.db import models
from django.utils import timezone

from memories.models.enums import ContainmentKind
from memories.models.history import tracked
from memories.models.sql import fetch
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, json_of, one_of, unique_in_project

# A memory's id, who wrote it by which grant, and when.
Writing = tuple[uuid.UUID, uuid.UUID | None, uuid.UUID | None, datetime.datetime]
# Of what a journal names those that were set aside, not those that stand for them: `FRAGMENT` of conflicts/snapshots.
REACHING = """
    SELECT w.id FROM unnest(%s::uuid[], %s::uuid[], %s::uuid[], %s::timestamptz[]) AS w (id, owner_id, grant_id, born)
    WHERE EXISTS (
        SELECT FROM memories_containment c
        LEFT JOIN memories_apikey k ON k.project_id = c.project_id AND k.id = c.target_id AND c.kind = 'key'
        WHERE c.project_id = %s AND c.undone_at IS NULL AND NOT c.journal -> 'upheld' ? w.id::text
            AND (c.journal #>> ARRAY['after', w.id::text, 'fragment', '2'] = 'contained'
                OR w.born <= c.applied_at AND w.born >= coalesce(c.since, '-infinity')
                AND (c.kind = 'owner' AND c.target_id = w.owner_id OR k.grant_id = w.grant_id)))"""


class ContainmentQuerySet(TenantQuerySet):
    """Containments."""

    def in_force(self, project_id: uuid.UUID) -> Self:
        """Return those of a project that nobody took back."""
        return self.within(project_id).filter(undone_at=None)

    def reaching(self, project_id: uuid.UUID, rows: Sequence[Writing]) -> set[uuid.UUID]:
        """Return the memories that one in force reaches, of some that are not there now; inside `access.enter`."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        return {i for (i,) in fetch(REACHING, [*columns, project_id])} if rows else set()


@tracked("id", "project", "kind", "target_id", "since", "written", "applied_by", "applied_at", "undone_by", "undone_at")
class Containment(TenantModel):
    """A containment: whose writes it set aside, and what to do to take it back. Ids, enums and times, no text."""

    kind = models.CharField(max_length=16, choices=ContainmentKind)
    # The key or the owner; a source and a text are named by the memories alone, and go with them.
    target_id = models.UUIDField(null=True)
    since = models.DateTimeField(null=True)
    note = models.CharField(max_length=1000, blank=True)
    # How many memories it set aside; more of them, and of what changed along, in the report.
    written = models.PositiveIntegerField()
    report = models.JSONField()
    journal = models.JSONField()
    applied_by = models.UUIDField(null=True)
    applied_at = models.DateTimeField(default=timezone.now)
    undone_by = models.UUIDField(null=True)
    undone_at = models.DateTimeField(null=True)

    objects = ContainmentQuerySet.as_manager()
    # Not exported: its keys and receipts stay, so a restored journal would have nothing to take back.
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("containment_project_id", "id"),
            one_of("containment_kind", "kind", ContainmentKind),
            models.CheckConstraint(
                condition=models.Q(kind__in=[ContainmentKind.KEY, ContainmentKind.OWNER], target_id__isnull=False)
                | models.Q(kind__in=[ContainmentKind.SOURCE, ContainmentKind.CONTENT], target_id__isnull=True),
                name="containment_target",
            ),
            json_of("containment_report_object", "report", "object"),
            json_of("containment_journal_object", "journal", "object"),
        ]
        indexes: ClassVar = [
            # The list.
            models.Index(fields=["project", "-applied_at", "-id"], name="containment_pages"),
        ]

    def __str__(self) -> str:
        return f"containment of {self.written} memories by {self.kind}"
