"""What a project expects its memory to answer: recall checks, and how their runs went."""

import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from memories.models.enums import Expectation, RecallCause
from memories.models.namespace import SHARED, Namespace
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, TenantQuerySet, between, one_of, parent, unique_in_project

MOST_CHECKS = 500  # of one project: every operation that changes recall asks all that it concerns
MOST_RUNS = 500
TOP_K = 10


class RecallCheckQuerySet(TenantQuerySet):
    """Recall checks."""

    def in_order(self) -> "RecallCheckQuerySet":
        """Return by namespace and name, the order of the file and of a run."""
        ordered: RecallCheckQuerySet = self.select_related("namespace").order_by("namespace__name", "name")
        return ordered

    def concerning(self, namespaces: Sequence[Namespace] | None, *, users: bool) -> "RecallCheckQuerySet":
        """Those whose question reads one of these, or all: its own, with `users` its users', all of the shared one."""
        rows = (
            self if users else self.filter(models.Q(namespace__parent=None) | models.Q(namespace__in=namespaces or ()))
        )
        if namespaces is None or any(namespace.agent == SHARED for namespace in namespaces):
            return rows
        return rows.filter(models.Q(namespace__in=namespaces) | models.Q(namespace__parent__in=namespaces))


class RecallCheck(TenantModel):
    """A question and what has to be among the first `top_k` of its answers; how it went the last time.

    `expected`: the text, or the value of a claim; empty where a memory is expected, which `fragment_id` names.
    """

    namespace = parent("memories.Namespace")
    name = models.CharField(max_length=200)
    question = models.CharField(max_length=1000)
    expects = models.CharField(max_length=16, choices=Expectation)
    # Not a reference: a memory that left the archive and came back is expected still.
    fragment_id = models.UUIDField(null=True)
    expected = models.CharField(max_length=1000, blank=True)
    top_k = models.PositiveSmallIntegerField(default=TOP_K)
    note = models.CharField(max_length=1000, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    # The last run: null before the first.
    passed = models.BooleanField(null=True)
    # At which place, from 1, what was expected stood; null: not among the first.
    place = models.PositiveSmallIntegerField(null=True)
    run_at = models.DateTimeField(null=True)

    objects = RecallCheckQuerySet.as_manager()
    # Not exported: the YAML file is how checks travel (docs/decisions/0124).
    spec = TableSpec(kind="operational", erase="swept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("recall_check_project_id", "id"),
            unique_in_project("recall_check_name", "namespace", "name"),
            one_of("recall_check_expects", "expects", Expectation),
            between("recall_check_top_k", "top_k", 1, 100),
            models.CheckConstraint(condition=~models.Q(name="") & ~models.Q(question=""), name="recall_check_asks"),
            models.CheckConstraint(
                condition=models.Q(expects=Expectation.MEMORY, fragment_id__isnull=False, expected="")
                | ~models.Q(expects=Expectation.MEMORY) & models.Q(fragment_id__isnull=True) & ~models.Q(expected=""),
                name="recall_check_expected",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def wanted(self) -> str:
        """What is expected, as text."""
        return str(self.fragment_id) if self.expects == Expectation.MEMORY else self.expected


class RecallRunQuerySet(TenantQuerySet):
    """Runs of recall checks."""

    def keep(self, project_id: uuid.UUID, **values: Any) -> "RecallRun":
        """Return a new run; the newest of a project stay."""
        made: RecallRun = self.create(project_id=project_id, **values)
        runs = self.within(project_id).order_by("-created_at", "-id").values_list("id", flat=True)
        self.within(project_id).filter(id__in=list(runs[MOST_RUNS : MOST_RUNS + 50])).delete()
        return made


class RecallRun(TenantModel):
    """Once that recall checks were asked: why, how many passed, and which did not. Ids only, no text."""

    # The only namespace that it was about; null: several or all.
    namespace = parent("memories.Namespace", null=True)
    cause = models.CharField(max_length=16, choices=RecallCause)
    # The operation that asked; soft, for it may be gone.
    operation_id = models.UUIDField(null=True)
    created_at = models.DateTimeField(default=timezone.now)
    took_ms = models.PositiveIntegerField()
    passed = models.PositiveIntegerField()
    failed = ArrayField(models.UUIDField(), default=list)
    # Which of these had passed before, and were accepted as lost where an operation did it.
    lost = ArrayField(models.UUIDField(), default=list)

    objects = RecallRunQuerySet.as_manager()
    spec = TableSpec(kind="operational", erase="kept")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("recall_run_project_id", "id"),
            one_of("recall_run_cause", "cause", RecallCause),
        ]
        indexes: ClassVar = [
            # The list, and the chart.
            models.Index(fields=["project", "-created_at", "-id"], name="recall_run_pages"),
        ]

    def __str__(self) -> str:
        return f"{self.passed} of {self.passed + len(self.failed)} by {self.cause}"
