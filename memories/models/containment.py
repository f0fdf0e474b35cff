"""Containments: what a key, an owner, a source or a text brought in, set aside at once."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.models.enums import ContainmentKind
from memories.models.history import tracked
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, json_of, one_of, unique_in_project


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
