"""What was said in a chat that passed through the proxy, until a worker has made memories of it."""

from typing import Any, ClassVar

from django.db import models
from django.utils import timezone

from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, parent, unique_in_project


class Exchange(TenantModel):
    """New turns of a chat: a list of {role, content, source_id, sequence, attested, partial}. Deleted once ingested."""

    namespace = parent("memories.Namespace")
    # Whose words they are: the worker stores them with the authority of this key.
    key = parent("memories.ApiKey")
    conversation_id = models.CharField(max_length=255, blank=True)
    turns: Any = models.JSONField()
    # What the answer was given from; an id that retention may have taken away.
    receipt_id = models.UUIDField(null=True)
    said_at = models.DateTimeField()
    attempts = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(default=timezone.now)

    # Not exported: ingested within seconds.
    # Forgotten: deleted when ingested, which keeps nothing that was forgotten.
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [unique_in_project("exchange_project_id", "id")]
        indexes: ClassVar = [
            # The worker: what is due?
            models.Index(fields=["project", "not_before"], name="exchange_due"),
        ]

    def __str__(self) -> str:
        return f"{len(self.turns)} turns of {self.said_at:%Y-%m-%d %H:%M}"
