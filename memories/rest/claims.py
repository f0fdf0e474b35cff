"""Forms and answers about claims: which to list, what is believed."""

from rest_framework import serializers

from memories.models.enums import SourceClass, Status
from memories.rest.answers import ClaimFields, OrNull
from memories.rest.fields import AboutUserQuery, Moment, Text
from memories.rest.inputs import namespace_form
from memories.rest.rulings import RulingMarkAnswer


class ClaimsQuery(AboutUserQuery):
    """Which claims, at which point of both times."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    session_id = Text(max_length=255, allow_blank=True, default="")
    status = serializers.ChoiceField([*Status.choices, ("all", "all")], default="active")
    as_of = Moment(required=False)
    known_at = Moment(required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class BelievedAnswer(ClaimFields):
    """A claim, as it was believed."""

    fragment_id = serializers.UUIDField()
    namespace = serializers.CharField()
    user = serializers.CharField(allow_null=True)
    source = serializers.ChoiceField(SourceClass.choices)
    owner = OrNull(allow_null=True)
    owner_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(Status.choices)
    recorded_at = serializers.DateTimeField()
    ruling = RulingMarkAnswer(allow_null=True, help_text="The ruling in force, at `known_at`, on what it says.")
