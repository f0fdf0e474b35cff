"""Long jobs, receipts, repeated requests, seals and heartbeats: what the service keeps about its own work."""

import datetime
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models.expressions import RawSQL
from django.utils import timezone

from memories.models.enums import OperationState
from memories.models.history import tracked
from memories.models.sql import fetch
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, Xid8Field, one_of, parent, unique_in_project

MOST_STAGES = 200


@tracked("id", "project", "kind", "namespace", "dry_run", "state", "owner_id", "created_at", "finished_at")
class Operation(TenantModel):
    """A long job with progress. This row is the truth; the broker only wakes a worker."""

    kind = models.CharField(max_length=32)
    namespace = parent("memories.Namespace", null=True)
    options = models.JSONField(default=dict)
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=16, choices=OperationState, default=OperationState.QUEUED)
    stage = models.CharField(max_length=64, blank=True)
    # When it came into which stage: [[stage, ISO time], …], the first MOST_STAGES of them.
    stages = models.JSONField(default=list)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(null=True)
    report = models.JSONField(null=True)
    error = models.JSONField(null=True)
    cursor = models.JSONField(null=True)
    cancel_requested = models.BooleanField(default=False)
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    # Who started it, for the worker that carries it out: `operations.starter`.
    owner_id = models.UUIDField(null=True)
    key_id = models.UUIDField(null=True)
    user_id = models.IntegerField(null=True)
    ceiling = models.CharField(max_length=16, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("operation_project_id", "id"),
            one_of("operation_state", "state", OperationState),
            # Two at once would work on each other's rows.
            models.UniqueConstraint(
                fields=["project", "namespace"],
                condition=models.Q(kind="consolidate", finished_at__isnull=True),
                name="operation_one_consolidation",
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=["queued", "running"], finished_at__isnull=True)
                | models.Q(state__in=["succeeded", "failed", "cancelled"], finished_at__isnull=False),
                name="operation_finished_has_time",
            ),
        ]
        indexes: ClassVar = [
            # The list page.
            models.Index(fields=["project", "-created_at", "-id"], name="operation_pages"),
            # The sweeper: what is queued or has lost its worker?
            models.Index(
                fields=["project", "lease_until"], name="operation_open", condition=models.Q(finished_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


@dataclass(frozen=True, slots=True)
class Carried:
    """In how many answers something was handed out, to how many agents, and when last."""

    answers: int = 0
    agents: int = 0
    last_at: datetime.datetime | None = None


class ReceiptQuerySet(TenantQuerySet):
    """Receipts of context answers."""

    def strike(self, fragment_ids: Sequence[uuid.UUID]) -> None:
        """Take forgotten fragments out of these receipts."""
        ids = list(fragment_ids)
        left = RawSQL(
            "ARRAY(SELECT i FROM unnest(fragment_ids) WITH ORDINALITY t (i, n) WHERE i <> ALL (%s) ORDER BY n)", [ids]
        )
        self.filter(fragment_ids__overlap=ids).update(fragment_ids=left)

    def carrying(self, groups: Sequence[Collection[uuid.UUID]]) -> dict[int, "Carried"]:
        """Return by place how often each group of memories was handed out; nothing of those that never were.

        Inside `access.enter`.
        """
        fragments = [fragment for group in groups for fragment in group]
        places = [place for place, group in enumerate(groups) for _ in group]
        rows = fetch("SELECT * FROM nova_carried(%s::uuid[], %s::int[])", [fragments, places]) if fragments else []
        return {place: Carried(*counts) for place, *counts in rows}

    def delete_older(self, before: datetime.datetime, *, most: int) -> int:
        """Delete up to `most` of those written before a time, the oldest first; how many those were."""
        ids = list(self.filter(created_at__lt=before).order_by("created_at").values_list("id", flat=True)[:most])
        return self.filter(id__in=ids).delete()[0] if ids else 0


class Receipt(TenantModel):
    """What one context answer handed out: ids and numbers, no text."""

    namespace = parent("memories.Namespace")
    fragment_ids = ArrayField(models.UUIDField(), default=list)
    tokens = models.PositiveIntegerField()
    key_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ReceiptQuerySet.as_manager()
    # Forgotten: fragment id taken out.
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [unique_in_project("receipt_project_id", "id")]
        indexes: ClassVar = [
            # Retention, and the retrievals of a namespace over time.
            models.Index(fields=["project", "created_at"], name="receipt_by_time"),
            # Which answers carried a memory (`nova_carried`).
            GinIndex(fields=["fragment_ids"], name="receipt_by_fragment"),
        ]

    def __str__(self) -> str:
        return f"{len(self.fragment_ids)} memories, {self.tokens} tokens"


class RepeatedRequestQuerySet(TenantQuerySet):
    """Answers kept for repeated requests."""

    def expired(self, *, now: datetime.datetime) -> Self:
        """Return those kept for IDEMPOTENCY_HOURS."""
        return self.filter(created_at__lt=now - datetime.timedelta(hours=settings.IDEMPOTENCY_HOURS))


class RepeatedRequest(TenantModel):
    """The answer to a POST with an Idempotency-Key; commits with the effect, kept IDEMPOTENCY_HOURS."""

    key_id = models.UUIDField()
    idempotency_key = models.CharField(max_length=255)
    body_digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    answer = models.JSONField()
    fragment_ids = ArrayField(models.UUIDField(), default=list)
    created_at = models.DateTimeField(default=timezone.now)

    objects = RepeatedRequestQuerySet.as_manager()
    # Forgotten: deleted when it names the fragment.
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("repeated_request_project_id", "id"),
            unique_in_project("repeated_request_key", "key_id", "idempotency_key"),
        ]
        indexes: ClassVar = [
            # Retention.
            models.Index(fields=["project", "created_at"], name="repeated_request_by_time"),
        ]

    def __str__(self) -> str:
        return self.idempotency_key


class Seal(TenantModel):
    """A link in a project's audit chain: the digests of the events up to a point, hashed and signed."""

    number = models.PositiveIntegerField()
    # Events of transactions below this id are covered by this seal or an earlier one.
    upto = Xid8Field()
    events = models.PositiveIntegerField()
    digest = models.BinaryField(max_length=32)
    signature = models.BinaryField(max_length=64)
    signer = models.CharField(max_length=64)
    sealed_at = models.DateTimeField(default=timezone.now)

    # Not exported: bound to its instance.
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("seal_project_id", "id"),
            unique_in_project("seal_number", "number"),
        ]

    def __str__(self) -> str:
        return f"seal {self.number}"


class AuditHorizon(TenantModel):
    """Up to which seal a project's history was let go, and the digest of the events that are kept of it."""

    number = models.PositiveIntegerField()
    upto = Xid8Field()
    sealed_at = models.DateTimeField()
    digest = models.BinaryField(max_length=32)
    events = models.PositiveIntegerField()
    kept = models.BinaryField(max_length=32)
    signature = models.BinaryField(max_length=64)
    made_at = models.DateTimeField(default=timezone.now)

    # Not exported: bound to its instance.
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("audit_horizon_project_id", "id"),
            unique_in_project("audit_horizon_once"),
        ]

    def __str__(self) -> str:
        return f"from seal {self.number + 1} on"


class HeartbeatManager(models.Manager[Any]):
    """Heartbeats."""

    def beat(self, part: str, *, at: datetime.datetime) -> None:
        """Show that a part lives."""
        self.update_or_create(part=part, defaults={"at": at})


class Heartbeat(models.Model):
    """When a part of the service last showed that it lives. Global."""

    part = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()

    objects = HeartbeatManager()

    def __str__(self) -> str:
        return f"{self.part} at {self.at}"
