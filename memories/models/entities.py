"""The graph: what memories speak of, where they do, and what their claims say of it; worked out from both."""

from typing import Any, ClassVar

from django.db import models

from memories.models.enums import EntityLabel
from memories.models.search import SearchRow
from memories.models.table_spec import TableSpec
from memories.models.tenant import TenantModel, between, one_of, parent, unique_in_project

NAME_LIMIT = 200


class Entity(TenantModel):
    """A thing that memories of a namespace speak of: its name in canonical form, the first 200 characters of it.

    `node` is the same in every namespace of the project. How it is written and what it is stands in its mentions, so
    that nothing of a forgotten text stays; without mentions it goes, by trigger.
    """

    namespace = parent("memories.Namespace")
    node = models.UUIDField()
    spelling = models.CharField(max_length=NAME_LIMIT)

    # Forgotten: deleted with its last mention.
    spec = TableSpec(
        kind="derived", erase="swept", fork="made anew", rebuild="manage.py rebuild graph, from entities and claims"
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("entity_project_id", "id"),
            unique_in_project("entity_once", "namespace", "node"),
        ]
        indexes: ClassVar = [
            # A node in whichever namespaces know it.
            models.Index(fields=["project", "node"], name="entity_by_node"),
        ]

    def __str__(self) -> str:
        return self.spelling


class Mention(SearchRow):
    """That a fragment speaks of an entity, and how."""

    pk: Any = models.CompositePrimaryKey("project_id", "entity_id", "fragment_id")
    entity = parent("memories.Entity", related_name="mentions")
    fragment = parent("memories.Fragment", related_name="mentions")
    text = models.CharField(max_length=NAME_LIMIT)
    label = models.CharField(max_length=16, choices=EntityLabel)
    confidence = models.FloatField()

    spec = TableSpec(
        kind="derived",
        belongs_to=("fragment_id",),
        erase="cascade",
        fork="made anew",
        rebuild="manage.py rebuild graph, from entities and claims",
    )

    class Meta:
        constraints: ClassVar = [
            one_of("mention_label", "label", EntityLabel),
            between("mention_confidence", "confidence", 0, 1),
        ]
        indexes: ClassVar = [
            # The triggers: what a fragment speaks of.
            models.Index(fields=["project", "fragment"], name="mention_by_fragment"),
        ]

    def __str__(self) -> str:
        return f"{self.text} in {self.fragment_id}"


class Relation(SearchRow):
    """What a claim says, as an edge: subject, predicate, and its value as the object."""

    pk: Any = models.CompositePrimaryKey("project_id", "claim_id")
    claim_id = models.UUIDField()
    fragment = parent("memories.Fragment", related_name="relations")
    subject = parent("memories.Entity")
    predicate = models.CharField(max_length=100)
    object = parent("memories.Entity")

    spec = TableSpec(
        kind="derived",
        belongs_to=("fragment_id",),
        erase="cascade",
        fork="made anew",
        rebuild="manage.py rebuild graph, from claims",
    )

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["project", "fragment"], name="relation_by_fragment"),
            # The edges of a node.
            models.Index(fields=["project", "subject"], name="relation_by_subject"),
            models.Index(fields=["project", "object"], name="relation_by_object"),
        ]

    def __str__(self) -> str:
        return f"{self.subject_id} {self.predicate} {self.object_id}"
