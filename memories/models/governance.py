"""What is kept of language models: each call, what they proposed and what became of it; and the tasks of agents."""

import datetime
import uuid
from collections.abc import Sequence
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import connection, models
from django.db.models import Exists, OuterRef, Q
from django.db.models.expressions import RawSQL
from django.utils import timezone

from memories.models.enums import Decision, ProposalKind, ProposalOutcome, TaskStatus
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, one_of, parent, unique_in_project

TITLE_LIMIT, SUMMARY_LIMIT = 120, 200  # docs/spec.md §11
KEPT_PER_TASK = 50  # docs/spec.md §11
KEPT_FOR = datetime.timedelta(minutes=30)


class LlmCall(TenantModel):
    """The provenance of one call of a language model: hashes and numbers, no text. Never changed."""

    namespace = parent("memories.Namespace", null=True)
    purpose = models.CharField(max_length=32)
    model = models.CharField(max_length=200)
    host = models.CharField(max_length=255)
    # SHA-256 in hexadecimal: of the request's canonical envelope, and of the tagged output.
    request_hash = models.CharField(max_length=64)
    output_hash = models.CharField(max_length=64)
    outcome = models.CharField(max_length=32)
    # The memories whose texts went in: their words could be guessed from the hashes.
    fragments = ArrayField(models.UUIDField(), default=list)
    tries = models.PositiveSmallIntegerField()
    latency_ms = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)

    # Not exported: memories that came of a call name it.
    # Forgotten: deleted with any memory whose text went in: a hash of few words can be guessed.
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [unique_in_project("llm_call_project_id", "id")]
        indexes: ClassVar = [
            # The newest calls; the same request again.
            models.Index(fields=["project", "-created_at", "-id"], name="llm_call_pages"),
            # Forgetting: which calls did it go into?
            GinIndex(fields=["fragments"], name="llm_call_fragments"),
        ]

    def __str__(self) -> str:
        return f"{self.purpose} {self.outcome}"


class ProposalQuerySet(TenantQuerySet):
    """The history of proposals."""

    def lasting(self, *, now: datetime.datetime) -> Self:
        """Return those that are kept at `now`: what is a person's to decide, and tasks of which something is new."""
        fresh = self.model.objects.filter(
            project_id=OuterRef("project_id"),
            namespace_id=OuterRef("namespace_id"),
            task_id=OuterRef("task_id"),
            kind=OuterRef("kind"),
            created_at__gt=now - KEPT_FOR,
        )
        return self.filter(Q(waiting=True) | ~Q(decision="") | Exists(fresh))

    def trim(self, project_id: uuid.UUID, *, now: datetime.datetime) -> int:
        """Delete all of a task and kind but its newest KEPT_PER_TASK, and those without news for KEPT_FOR; how many.

        What waits for a person, or was decided by one, is not counted and stays longer: as long as all its memories
        stand; what was accepted as long as they are there.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                """DELETE FROM memories_proposal p USING (
                       SELECT id, waiting OR decision <> '' AS of_people, row_number() OVER w AS place,
                           max(created_at) OVER (PARTITION BY namespace_id, task_id, kind) AS newest
                       FROM memories_proposal WHERE project_id = %s
                       WINDOW w AS (PARTITION BY namespace_id, task_id, kind, waiting OR decision <> ''
                           ORDER BY created_at DESC, id DESC)) AS r
                   WHERE p.project_id = %s AND p.id = r.id
                       AND ((r.place > %s AND NOT r.of_people)
                           OR (r.newest <= %s AND NOT (r.of_people AND cardinality(p.about) = (
                               SELECT count(*) FROM memories_fragment f
                               WHERE f.project_id = p.project_id AND f.id = ANY (p.about)
                                   AND (f.status = 'active' OR p.decision = 'accepted')))))""",
                [project_id, project_id, KEPT_PER_TASK, now - KEPT_FOR],
            )
            return int(cursor.rowcount)


class Proposal(TenantModel):
    """What a language model proposed and what became of it; also that it was not even asked."""

    namespace = parent("memories.Namespace")
    task_id = models.CharField(max_length=255)
    kind = models.CharField(max_length=16, choices=ProposalKind)
    outcome = models.CharField(max_length=32, choices=ProposalOutcome)
    proposal = models.JSONField(null=True)
    # Why, in words of ours; who judged.
    reasons = ArrayField(models.CharField(max_length=100), default=list)
    judge = models.CharField(max_length=100, blank=True)
    calls = ArrayField(models.UUIDField(), default=list)
    # The memories that it was made of; it goes when one of them is forgotten.
    about = ArrayField(models.UUIDField(), default=list)
    # The memory that it became.
    fragment = parent("memories.Fragment", null=True)
    # Allowed, but for a person to carry out: kept until then.
    waiting = models.BooleanField(default=False)
    # What a person decided: nothing proposes again what was dismissed.
    decision = models.CharField(max_length=16, choices=Decision, blank=True)
    decided_by = models.UUIDField(null=True)
    decided_rank = models.SmallIntegerField(null=True)
    decided_at = models.DateTimeField(null=True)
    # How it was before what was accepted: ids, statuses and times, for taking the decision back.
    before = models.JSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    objects = ProposalQuerySet.as_manager()
    # Not exported: what was allowed is a memory.
    # Forgotten: deleted with the memory that it became and any that it was made of; one that became none by its words.
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("proposal_project_id", "id"),
            one_of("proposal_kind", "kind", ProposalKind),
            one_of("proposal_outcome", "outcome", ProposalOutcome),
            models.CheckConstraint(
                condition=Q(outcome=ProposalOutcome.ALLOWED) | Q(fragment__isnull=True, waiting=False),
                name="proposal_applied_only_when_allowed",
            ),
            one_of("proposal_decision", "decision", Decision, blank=True),
            models.CheckConstraint(
                condition=Q(decision="", decided_at__isnull=True)
                | Q(decision__gt="", decided_at__isnull=False, waiting=False, outcome=ProposalOutcome.ALLOWED),
                name="proposal_decided_once",
            ),
            models.CheckConstraint(
                condition=Q(before__isnull=True) | Q(decision=Decision.ACCEPTED),
                name="proposal_before_of_the_accepted",
            ),
        ]
        indexes: ClassVar = [
            # The list page; the newest of a task.
            models.Index(fields=["project", "-created_at", "-id"], name="proposal_pages"),
            models.Index(fields=["project", "namespace", "task_id", "-created_at"], name="proposal_by_task"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.outcome}"


CONTAINED_KEY = """SELECT FROM memories_containment s WHERE s.project_id = memories_task.project_id
    AND s.undone_at IS NULL AND s.report -> 'keys' ? memories_task.key_id::text"""


class TaskQuerySet(TenantQuerySet):
    """Tasks."""

    def uncontained(self) -> Self:
        """Return those that no contained key reported last."""
        return self.filter(RawSQL(f"NOT EXISTS ({CONTAINED_KEY})", [], output_field=models.BooleanField()))

    def newest(self, namespace_ids: Sequence[uuid.UUID]) -> Self:
        """Return of these namespaces, the newest first, as far as they are not contained."""
        rows = self.uncontained().filter(namespace__in=namespace_ids)
        return rows.order_by("-updated_at", "-task_id", "-id")


class Task(TenantModel):
    """What an agent works or worked on, as it reported last. Short texts only: no log, no trace."""

    namespace = parent("memories.Namespace")
    task_id = models.CharField(max_length=255)
    title = models.CharField(max_length=TITLE_LIMIT)
    status = models.CharField(max_length=16, choices=TaskStatus)
    summary = models.CharField(max_length=SUMMARY_LIMIT, blank=True)
    updated_at = models.DateTimeField()
    reported_at = models.DateTimeField(default=timezone.now)
    # Whose report this is; empty for people, and for what was reported before it was kept.
    key_id = models.UUIDField(null=True)
    # What is remembered of its end.
    fragment = parent("memories.Fragment", null=True)
    # When it was reported failed, the last three times; when a proposal was queued because of that.
    failed_at = ArrayField(models.DateTimeField(), default=list)
    proposed_at = models.DateTimeField(null=True)

    objects = TaskQuerySet.as_manager()
    # Not exported: what ended is a memory.
    # Forgotten: deleted with the memory of its end, or its words go where they hold the text.
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("task_project_id", "id"),
            unique_in_project("task_once", "namespace", "task_id"),
            one_of("task_status", "status", TaskStatus),
        ]
        indexes: ClassVar = [
            # The most recent tasks of a namespace.
            models.Index(fields=["project", "namespace", "-updated_at", "-task_id"], name="task_recent"),
        ]

    def __str__(self) -> str:
        return f"{self.task_id} {self.status}"


class PendingReading(TenantModel):
    """A fragment whose text a language model is to read for claims, with when to try again."""

    fragment = parent("memories.Fragment", related_name="pending_readings")
    # Answers that could not be used; an absent model does not count.
    attempts = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(default=timezone.now)

    # Not exported: what it finds is a claim.
    # Not copied: the original is read.
    spec = TableSpec(kind="operational", belongs_to=("fragment_id",), erase="cascade")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("pending_reading_project_id", "id"),
            unique_in_project("pending_reading_once", "fragment"),
        ]
        indexes: ClassVar = [
            # The worker's question: what is due?
            models.Index(fields=["project", "not_before"], name="pending_reading_due"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} waits to be read"
