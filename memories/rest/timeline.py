"""Forms and answers of the timeline: what was decided and done, and what two points differ in."""

from typing import Any

from rest_framework import serializers

from memories.models.enums import Status
from memories.rest.claims import BelievedAnswer
from memories.rest.fields import AboutUserQuery, Moment, Text
from memories.rest.inputs import namespace_form
from memories.timeline import TimelineKind


class TimelineEntriesQuery(AboutUserQuery):
    """A page of it."""

    namespace = Text(required=False, validators=[namespace_form])
    kind = serializers.ChoiceField(TimelineKind.choices, required=False)
    since = Moment(required=False)
    until = Moment(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class EntryAnswer(serializers.Serializer[Any]):
    """Something that was decided or done."""

    kind = serializers.ChoiceField(TimelineKind.choices)
    at = serializers.DateTimeField()
    id = serializers.UUIDField(
        help_text="Of the conflict, the operation or the containment; of a forgetting at once the first memory's."
    )
    namespace = serializers.CharField(allow_null=True, help_text="null: of all of the project.")
    user = serializers.CharField(allow_null=True)
    owner_id = serializers.UUIDField(allow_null=True, help_text="Who did it; null: the service itself.")
    action = serializers.CharField(
        help_text="Of a decision: supersede, reject or keep_both; of a forgetting at once: memories or user."
    )
    undoes = serializers.UUIDField(allow_null=True, help_text="What it took back.")


class DifferenceQuery(AboutUserQuery):
    """Two points of record time."""

    namespace = Text(required=False, validators=[namespace_form])
    since = Moment()
    until = Moment(required=False, help_text="Now, unless it is said.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """In their order."""
        if "until" in attrs and attrs["until"] < attrs["since"]:
            raise serializers.ValidationError({"until": ["This lies before `since`."]})
        return attrs


class KeyDifferenceAnswer(serializers.Serializer[Any]):
    """A key of which something else is believed."""

    namespace = serializers.CharField()
    user = serializers.CharField(allow_null=True)
    subject = serializers.CharField()
    predicate = serializers.CharField()
    before = BelievedAnswer(many=True)
    after = BelievedAnswer(many=True)


class StatusChangeAnswer(serializers.Serializer[Any]):
    """How many memories went from a status to another."""

    before = serializers.ChoiceField(Status.choices, allow_null=True, help_text="null: it was not there yet.")
    after = serializers.ChoiceField(Status.choices, allow_null=True, help_text="null: it is not there any more.")
    count = serializers.IntegerField()


class DifferenceAnswer(serializers.Serializer[Any]):
    """What two points differ in."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    keys = KeyDifferenceAnswer(many=True)
    memories = StatusChangeAnswer(many=True)


class ComparisonQuery(AboutUserQuery):
    """With what a namespace is compared."""

    other = Text(validators=[namespace_form], help_text="The other namespace.")


class ComparedKeyAnswer(serializers.Serializer[Any]):
    """A key of which two namespaces believe otherwise."""

    user = serializers.CharField(allow_null=True)
    subject = serializers.CharField()
    predicate = serializers.CharField()
    here = BelievedAnswer(many=True, source="after")
    there = BelievedAnswer(many=True, source="before")


class ComparisonAnswer(serializers.Serializer[Any]):
    """Of which keys two namespaces believe otherwise."""

    namespace = serializers.CharField()
    other = serializers.CharField()
    keys = ComparedKeyAnswer(many=True)
