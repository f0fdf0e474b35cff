"""What joins memories: links, clusters, episodes, and what still waits to be joined; the graph is in `entities`.

All but what people give (episodes made by hand, labels, links drawn by hand) is worked out from fragments, claims and
vectors by `memories.upkeep.graph`.
"""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from memories.models.entities import NAME_LIMIT
from memories.models.enums import LinkKind
from memories.models.search import EmbeddingModel
from memories.models.table_spec import TableSpec
from memories.models.tenant import (
    TenantModel,
    TenantQuerySet,
    between,
    in_calendar,
    one_of,
    parent,
    unique_in_project,
)


class Link(TenantModel):
    """What joins two fragments; one row a direction."""

    fragment = parent("memories.Fragment", related_name="links")
    other = parent("memories.Fragment")
    kind = models.CharField(max_length=16, choices=LinkKind)
    similarity = models.FloatField(default=1.0)
    # Of a similar one: whether `other` is among the nearest of `fragment`. A pair is linked when one chose the other.
    chosen = models.BooleanField(default=False, db_default=False)

    # Not exported: rebuilt; those drawn by hand inside their fragment.
    # Forks: rebuilt; those drawn by hand copied.
    spec = TableSpec(
        kind="derived",
        inside="links",
        archived="links",
        belongs_to=("fragment_id", "other_id"),
        local=("project_id", "fragment_id", "chosen"),
        erase="cascade",
        fork="copied",
        rebuild="manage.py rebuild links",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("link_project_id", "id"),
            unique_in_project("link_once", "fragment", "other", "kind"),
            one_of("link_kind", "kind", LinkKind),
            between("link_similarity", "similarity", -1, 1),
            models.CheckConstraint(
                condition=models.Q(chosen=False) | models.Q(kind="similar"), name="link_chosen_if_similar"
            ),
            models.CheckConstraint(condition=~models.Q(fragment=models.F("other")), name="link_not_to_itself"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} {self.kind} {self.other_id}"


class PendingConnection(models.Model):
    """A fragment that has changed since it was connected. Written by triggers, appended only: no writer waits here.

    One fragment may stand here several times. No reference to it: what was forgotten leaves others to connect anew.
    """

    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    namespace = parent("memories.Namespace")
    fragment_id = models.UUIDField()

    objects = TenantQuerySet.as_manager()
    # Not exported: a restore marks anew.
    # Forgotten: an id only; gone with the next run.
    spec = TableSpec(kind="operational", erase="swept", fork="made anew")

    class Meta:
        constraints: ClassVar = [unique_in_project("pending_connection_project_id", "id")]

    def __str__(self) -> str:
        return f"{self.fragment_id} is to be connected"


class Connected(TenantModel):
    """How far a namespace is connected: under which model its links are, and when its clusters were worked out."""

    namespace = parent("memories.Namespace")
    model = models.ForeignKey(
        EmbeddingModel, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    # Whether links have changed since its clusters were worked out.
    links_moved = models.BooleanField(default=False)
    # Whether memories have changed since a consolidation began: the scopes of users in which none did cost nothing.
    changed = models.BooleanField(default=True)
    # Whether memories have changed since contradictions among its free texts were looked for.
    unexamined = models.BooleanField(default=True)
    clustered_at = models.DateTimeField(null=True)

    # Not exported: of the moment.
    spec = TableSpec(kind="operational", erase="kept", fork="made anew")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("connected_project_id", "id"),
            unique_in_project("connected_once", "namespace"),
        ]
        indexes: ClassVar = [
            # The scopes that the hourly consolidation looks at.
            models.Index(fields=["project", "namespace"], name="connected_changed", condition=models.Q(changed=True)),
        ]

    def __str__(self) -> str:
        return f"{self.namespace_id} under {self.model_id}"


class Cluster(TenantModel):
    """Memories of a namespace that hang together by similar links. Its id is that of its oldest member."""

    namespace = parent("memories.Namespace")
    size = models.PositiveIntegerField()
    # Of the oldest member.
    created_at = models.DateTimeField()

    # Forgotten: members deleted with their fragments; an id and a number stay until the next run.
    spec = TableSpec(kind="derived", erase="swept", fork="made anew", rebuild="manage.py rebuild clusters, from links")

    class Meta:
        constraints: ClassVar = [
            unique_in_project("cluster_project_id", "id"),
            models.CheckConstraint(condition=models.Q(size__gte=2), name="cluster_of_several"),
        ]
        indexes: ClassVar = [
            # The list page.
            models.Index(fields=["project", "namespace", "-created_at", "-id"], name="cluster_pages"),
        ]

    def __str__(self) -> str:
        return f"{self.size} memories about {self.id}"


class ClusterMember(models.Model):
    """A fragment's place in a cluster."""

    fragment = models.OneToOneField(
        "memories.Fragment", on_delete=models.DO_NOTHING, db_constraint=False, primary_key=True, related_name="+"
    )
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    cluster = parent("memories.Cluster", related_name="members")

    objects = TenantQuerySet.as_manager()
    spec = TableSpec(
        kind="derived",
        belongs_to=("fragment_id",),
        erase="cascade",
        fork="made anew",
        rebuild="manage.py rebuild clusters, from links",
    )

    class Meta:
        constraints: ClassVar = [unique_in_project("cluster_member_project_id", "fragment")]
        indexes: ClassVar = [
            # The members of a cluster.
            models.Index(fields=["project", "cluster"], name="cluster_member_of"),
        ]

    def __str__(self) -> str:
        return f"{self.fragment_id} in {self.cluster_id}"


class ClusterLabel(TenantModel):
    """What a person or an agent called a cluster, kept with its members so that it outlives every one of them."""

    fragment = parent("memories.Fragment")
    label = models.CharField(max_length=NAME_LIMIT)
    labelled_at = models.DateTimeField(default=timezone.now)

    # Forgotten: deleted with its fragment, and where it holds the text; else the others keep it.
    spec = TableSpec(
        kind="canonical",
        inside="labels",
        belongs_to=("fragment_id",),
        local=("project_id", "fragment_id"),
        erase="cascade",
        fork="copied",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("cluster_label_project_id", "id"),
            unique_in_project("cluster_label_once", "fragment"),
            models.CheckConstraint(condition=models.Q(label__regex=r"^\S(.*\S)?$"), name="cluster_label_trimmed"),
        ]

    def __str__(self) -> str:
        return self.label


class Episode(TenantModel):
    """What belongs together in time: a conversation, or memories that somebody put together.

    Of a conversation only when it began and ended is kept: title and summary are read off its members.
    """

    namespace = parent("memories.Namespace")
    # Empty: made by hand.
    conversation_id = models.CharField(max_length=255, blank=True)
    title = models.CharField(max_length=NAME_LIMIT, blank=True)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()

    # Exported: those made by hand.
    # Forgotten: members deleted with their fragments; a title goes where it holds the text.
    spec = TableSpec(
        kind="canonical",
        record="episode",
        local=("project_id", "namespace_id"),
        erase="swept",
        fork="copied",
        rebuild="those of conversations: manage.py rebuild episodes",
    )

    class Meta:
        constraints: ClassVar = [
            unique_in_project("episode_project_id", "id"),
            models.UniqueConstraint(
                fields=["project", "namespace", "conversation_id"],
                condition=~models.Q(conversation_id=""),
                name="episode_of_conversation",
            ),
            models.CheckConstraint(
                condition=models.Q(conversation_id="") | models.Q(title=""), name="episode_title_by_hand"
            ),
            models.CheckConstraint(condition=models.Q(ended_at__gte=models.F("began_at")), name="episode_forward"),
            in_calendar("episode_began_in_calendar", "began_at"),
            in_calendar("episode_ended_in_calendar", "ended_at"),
        ]
        indexes: ClassVar = [
            # The list page.
            models.Index(fields=["project", "namespace", "-began_at", "-id"], name="episode_pages"),
        ]

    def __str__(self) -> str:
        return self.title or self.conversation_id


class EpisodeMember(models.Model):
    """A fragment's place in an episode that was made by hand."""

    pk = models.CompositePrimaryKey("project_id", "episode_id", "fragment_id")
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    episode = parent("memories.Episode", related_name="members")
    fragment = parent("memories.Fragment")
    position = models.PositiveIntegerField()

    objects = TenantQuerySet.as_manager()
    spec = TableSpec(kind="canonical", inside="members", belongs_to=("fragment_id",), erase="cascade", fork="copied")

    def __str__(self) -> str:
        return f"{self.fragment_id} in {self.episode_id}"
