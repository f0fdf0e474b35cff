"""A user in an address, and all that is kept of one."""

import base64
import binascii
import datetime
from collections.abc import Sequence
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from rest_framework import serializers

from conflicts.notes import notes_in
from memories import access
from memories.access import NotFound, Principal, users
from memories.models import ClusterLabel, Episode, Namespace, Revision, Task
from memories.models.enums import TaskStatus
from memories.models.namespace import user_of
from memories.rest.answers import FragmentAnswer, answers
from memories.rest.histories import RevisionAnswer
from memories.rest.tombstones import TombstoneAnswer, tombstones_of


class FormerTextAnswer(RevisionAnswer):
    """A former text of a memory."""

    fragment_id = serializers.UUIDField()


class KeptTaskAnswer(serializers.Serializer[Any]):
    """A task as it was reported last."""

    id = serializers.CharField(source="task_id")
    namespace = serializers.CharField(source="namespace.root_name")
    title = serializers.CharField()
    status = serializers.ChoiceField(TaskStatus.choices)
    summary = serializers.CharField()
    updated_at = serializers.DateTimeField()


class TitleAnswer(serializers.Serializer[Any]):
    """What somebody called memories that belong together."""

    title = serializers.CharField()
    fragment_ids = serializers.ListField(child=serializers.UUIDField(), help_text="The memories that it is about.")


class NoteAnswer(serializers.Serializer[Any]):
    """What was written on a memory, or on a decision about it; not by whom."""

    kind = serializers.ChoiceField(["vote", "conflict", "ruling"], help_text="On which occasion.")
    fragment_id = serializers.UUIDField(allow_null=True, help_text="The memory that it is about.")
    note = serializers.CharField()
    at = serializers.DateTimeField()


class UserExport(serializers.Serializer[Any]):
    """All that is kept of a user."""

    user = serializers.CharField()
    namespaces = serializers.ListField(child=serializers.CharField())
    exported_at = serializers.DateTimeField()
    memories = FragmentAnswer(many=True)
    tombstones = TombstoneAnswer(many=True)
    former_texts = FormerTextAnswer(many=True, help_text="What memories said before they were changed.")
    tasks = KeptTaskAnswer(many=True)
    titles = TitleAnswer(many=True, help_text="What episodes and clusters of these memories were called.")
    notes = NoteAnswer(many=True, help_text="What was written on these memories, the oldest first.")


def address_of(user: str) -> str:
    """Return a user as addresses have it: base64url of UTF-8, without padding."""
    return base64.urlsafe_b64encode(user.encode()).decode().rstrip("=")


def user_at(address: str) -> str:
    """Return the user of an address. Raise NotFound for what is none."""
    try:
        return user_of(base64.b64decode(address.encode() + b"=" * (-len(address) % 4), b"-_", validate=True).decode())
    except (binascii.Error, ValueError) as error:  # BadUser is one
        raise NotFound("user") from error


def exported(principal: Principal, user: str, namespace: str | None, *, now: datetime.datetime) -> dict[str, Any]:
    """Return all that is kept of a user as it is exported. Raise NotFound."""
    with access.enter(principal.of_everybody(), why="export user"):
        kept = users.load_user_data(principal, user, namespace)
        tombstones = tombstones_of([row.namespace for row in kept.tombstones])
        return {
            "user": kept.user,
            "namespaces": [scope.root_name for scope in kept.scopes],
            "exported_at": now,
            "memories": answers(kept.memories, now=now),
            "tombstones": TombstoneAnswer(
                tombstones.filter(id__in=[row.id for row in kept.tombstones]), many=True
            ).data,
            **_beside(principal, kept.scopes),
        }


def _beside(principal: Principal, scopes: Sequence[Namespace]) -> dict[str, Any]:
    """Return what is kept beside memories in words: what they said before, tasks, titles and notes."""
    project_id = principal.project_id
    former = Revision.objects.within(project_id).filter(fragment__namespace__in=scopes)
    tasks = Task.objects.within(project_id).filter(namespace__in=scopes).select_related("namespace__parent")
    episodes = Episode.objects.within(project_id).filter(namespace__in=scopes).exclude(title="")
    titled = episodes.annotate(ids=ArrayAgg("members__fragment_id", order_by="members__position"))
    labels = ClusterLabel.objects.within(project_id).filter(fragment__namespace__in=scopes)
    labelled = labels.values("label").annotate(ids=ArrayAgg("fragment_id", order_by="fragment_id"))
    titles = [
        *titled.order_by("began_at", "id").values_list("title", "ids"),
        *labelled.order_by("label").values_list("label", "ids"),
    ]
    return {
        "former_texts": FormerTextAnswer(former.order_by("fragment", "revision"), many=True).data,
        "tasks": KeptTaskAnswer(tasks.order_by("-updated_at", "-id"), many=True).data,
        "titles": TitleAnswer([{"title": title, "fragment_ids": ids} for title, ids in titles], many=True).data,
        "notes": NoteAnswer(notes_in(project_id, scopes), many=True).data,
    }
