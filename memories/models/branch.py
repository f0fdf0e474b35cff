"""Where the memories of a branch come from: what a fork copied, and what a merge brought."""

from typing import ClassVar

from django.db import models

from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantQuerySet, parent, unique_in_project


class Origin(models.Model):
    """Of which fragment this one is a copy. Soft ids: which of them was forgotten has to be known for longer."""

    fragment_id = models.UUIDField(primary_key=True)
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    namespace = parent("memories.Namespace")
    origin_id = models.UUIDField()
    # The first of the line: copies of one memory are known by it wherever they are.
    root_id = models.UUIDField()
    # Of both when the copy was made: who is at a later one changed since.
    revision = models.PositiveIntegerField()
    # The merge that made the copy; null: a fork.
    operation_id = models.UUIDField(null=True)

    objects = TenantQuerySet.as_manager()
    # Kept: ids only, which say what a merge has to forget too.
    spec = TableSpec(
        kind="canonical", record="origin", local=("project_id", "namespace_id"), erase="kept", fork="made anew"
    )

    class Meta:
        constraints: ClassVar = [unique_in_project("origin_project_id", "fragment_id")]
        indexes: ClassVar = [
            # The counterparts of a memory in another namespace.
            models.Index(fields=["project", "namespace", "root_id"], name="origin_by_root"),
            # Its copies wherever they are, in whichever user's scope.
            models.Index(fields=["project", "root_id"], name="origin_line"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} from {self.origin_id}"
