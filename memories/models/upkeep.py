"""What upkeep keeps of its runs: the steps of a plan, what stood before, and which pairs were heard together."""

from typing import ClassVar

from django.db import models

from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, parent, unique_in_project


class PlanStep(TenantModel):
    """One step of a consolidation's plan: what is to become of a fragment. Ids, enums and numbers, no text."""

    operation = parent("memories.Operation", related_name="steps")
    phase = models.CharField(max_length=16)
    ordinal = models.PositiveIntegerField()
    action = models.CharField(max_length=16)
    fragment = parent("memories.Fragment")
    # Digests of both rows as the plan saw them: what changed since is left as it is.
    seen = models.CharField(max_length=32)
    other = parent("memories.Fragment", null=True)
    other_seen = models.CharField(max_length=32, blank=True)
    details = models.JSONField(default=dict)
    # Its run was undone: it is not planned again.
    declined = models.BooleanField(default=False)

    spec = TableSpec(kind="operational", erase="cascade")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("plan_step_project_id", "id"),
            unique_in_project("plan_step_once", "operation", "ordinal"),
        ]
        indexes: ClassVar = [
            # What was undone is not planned again.
            models.Index(
                fields=["project", "fragment", "phase"],
                name="plan_step_declined",
                condition=models.Q(declined=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.fragment_id}"


class RunChange(TenantModel):
    """A row that a run changed, written by triggers: its former values in the columns that changed.

    `before` null: the row was made. `after` is the digest of what the run left; empty: the row was deleted.
    """

    operation = parent("memories.Operation", related_name="changes")
    fragment = parent("memories.Fragment")
    place = models.CharField(max_length=63)
    row_id = models.UUIDField()
    before = models.JSONField(null=True)
    after = models.CharField(max_length=64, blank=True)

    spec = TableSpec(kind="operational", belongs_to=("fragment_id",), erase="cascade")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("run_change_project_id", "id"),
            unique_in_project("run_change_once", "operation", "place", "row_id"),
        ]

    def __str__(self) -> str:
        return f"{self.place} {self.row_id}"


class HeardPair(TenantModel):
    """Two fragments of which one corroborated the other: once ever. `one` has the smaller id."""

    one = parent("memories.Fragment")
    other = parent("memories.Fragment")

    # Not exported: votes say it too.
    spec = TableSpec(kind="operational", erase="cascade")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("heard_pair_project_id", "id"),
            unique_in_project("heard_pair_once", "one", "other"),
            models.CheckConstraint(condition=models.Q(one__lt=models.F("other")), name="heard_pair_ordered"),
        ]

    def __str__(self) -> str:
        return f"{self.one_id} and {self.other_id}"
