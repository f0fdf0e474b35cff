"""Namespaces: `project:agent`, `project:shared` or a branch."""

import re
import uuid
from typing import ClassVar, Self

from django.db import models
from django.utils import timezone

from memories.models.history import tracked
from memories.models.project import NAME_PART
from memories.models.tenant import Catalogue, TenantModel, TenantQuerySet, one_of, parent, unique_in_project
from memories.models.words import ArchivePolicy

FORM = re.compile(rf"({NAME_PART}):({NAME_PART})", re.ASCII)
SHARED = "shared"


class NamespaceQuerySet(TenantQuerySet):
    """Namespaces by name."""

    def ensure(self, *, project_id: uuid.UUID, name: str) -> "Namespace":
        """The namespace, made when it is missing; two writers at once make one."""
        found: Namespace | None = self.within(project_id).filter(name=name).first()
        if found is not None:
            return found
        self.bulk_create([Namespace(project_id=project_id, name=name)], ignore_conflicts=True)
        made: Namespace = self.within(project_id).get(name=name)
        return made

    def branch(self, *, source: "Namespace", name: str) -> tuple["Namespace", bool]:
        """The namespace of this name, and whether it is a branch of the source; made as one when it is missing."""
        row = Namespace(project_id=source.project_id, name=name, forked_from=source)
        self.bulk_create([row], ignore_conflicts=True)
        made: Namespace = self.within(source.project_id).get(name=name)
        return made, made.forked_from_id == source.id

    def named(self, names: list[str]) -> Self:
        """Those with one of the names."""
        return self.filter(name__in=names)


@tracked("id", "project", "forked_from", "archive_policy", "created_at")
class Namespace(TenantModel):
    """A room of memories inside a project; what one agent, the team or a branch remembers."""

    name = models.CharField(max_length=127)
    forked_from = parent("memories.Namespace", null=True)
    language = models.CharField(max_length=32, default="english")
    archive_policy = models.CharField(max_length=16, choices=ArchivePolicy, default=ArchivePolicy.EPISODIC)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = NamespaceQuerySet.as_manager()
    catalogue = Catalogue(kind="canonical", export="record kind `namespace`", erase="kept: a name only", fork="copied")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("namespace_project_id", "id"),
            unique_in_project("namespace_name", "name"),
            one_of("namespace_archive_policy", "archive_policy", ArchivePolicy),
            models.CheckConstraint(
                condition=models.Q(name__regex=rf"^{NAME_PART}:{NAME_PART}$"), name="namespace_name_form"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def agent(self) -> str:
        """The part after the colon."""
        return str(self.name).partition(":")[2]
