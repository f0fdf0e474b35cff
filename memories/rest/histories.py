"""Histories, as they are answered: of a fragment, and of what was believed on a key."""

import uuid
from typing import Any

from rest_framework import serializers

from conflicts.ruling_marks import ruling_marks_of
from memories.access import Principal
from memories.models import Revision
from memories.models.enums import Status
from memories.rest.claims import BelievedAnswer
from memories.rest.fields import AboutUserQuery, Text
from memories.rest.fragments import readable_fragment
from memories.rest.inputs import namespace_form
from memories.rest.rulings import RulingMarkAnswer

BY_PERIOD = ("begins", "recorded_at", "id")


class RevisionAnswer(serializers.Serializer[Any]):
    """A former text."""

    revision = serializers.IntegerField()
    content = serializers.CharField()
    recorded_at = serializers.DateTimeField()


class EventAnswer(serializers.Serializer[Any]):
    """A change: when, by whom, what the fragment was after it."""

    at = serializers.DateTimeField(source="pgh_created_at")
    kind = serializers.CharField(source="pgh_label")
    who = serializers.DictField(source="pgh_context", allow_null=True)
    revision = serializers.IntegerField()
    status = serializers.CharField()
    importance = serializers.FloatField()
    base_relevance = serializers.FloatField()
    is_pinned = serializers.BooleanField()


class HistoryAnswer(serializers.Serializer[Any]):
    """What happened to a fragment, oldest first."""

    revisions = RevisionAnswer(many=True)
    events = EventAnswer(many=True)
    rulings = RulingMarkAnswer(many=True, help_text="What people ruled on it or on what it claims.")


def history_answer(principal: Principal, fragment_id: uuid.UUID) -> dict[str, Any]:
    """Return what happened to a fragment. To be called inside `access.enter`. Raise NotFound."""
    row: Any = readable_fragment(principal, fragment_id)
    revisions = Revision.objects.within(principal.project_id).filter(fragment=row).order_by("revision")
    told = {"revisions": revisions, "events": row.events.order_by("pgh_id"), "rulings": ruling_marks_of(row)}
    answer: dict[str, Any] = HistoryAnswer(told).data
    return answer


class TimelineQuery(AboutUserQuery):
    """Which key."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100)
    predicate = Text(max_length=100)
    session_id = Text(max_length=255, allow_blank=True, default="")
    limit = serializers.IntegerField(
        min_value=1,
        max_value=200,
        default=50,
        help_text="Memories; one that has claimed several values of the key shows each.",
    )
    cursor = Text(required=False)


class BeliefAnswer(serializers.Serializer[Any]):
    """What was believed of a claim for a time; `until` null means still."""

    until = serializers.DateTimeField(allow_null=True)
    status = serializers.ChoiceField(Status.choices)
    value = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """With `from`, which is no name in Python."""
        return {"from": serializers.DateTimeField(source="since"), **super().get_fields()}


class LifeAnswer(BelievedAnswer):
    """A claim on a key and all that was ever believed of it."""

    superseded_by = serializers.UUIDField(allow_null=True)
    moved = serializers.BooleanField(help_text="It was changed and says nothing of this key any more.")
    beliefs = BeliefAnswer(many=True)
    rulings = RulingMarkAnswer(many=True, help_text="All that was ever ruled on what it says, oldest first.")
