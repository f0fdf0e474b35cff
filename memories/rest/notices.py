"""Forms and answers of recall notices."""

from typing import Any

from rest_framework import serializers

from memories.models.enums import NoticeReason, Status
from memories.rest.fields import AboutUserQuery, Id, Text
from memories.rest.inputs import namespace_form


class NoticesQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    reason = serializers.ChoiceField(NoticeReason.choices, required=False)
    fragment_id = Id(required=False, help_text="Of this memory.")
    receipt_id = Id(required=False, help_text="Of this answer.")
    mine = serializers.BooleanField(default=False, help_text="Only of answers that the asking key got.")
    since = Text(required=False, help_text="The `bookmark` of an answer, an event’s id, or `now`: what came after it.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class NoticeAnswer(serializers.Serializer[Any]):
    """That an answer carried a memory which is not any more, or is again, what it was then."""

    id = serializers.UUIDField()
    reason = serializers.ChoiceField(NoticeReason.choices)
    fragment_id = serializers.UUIDField()
    claim_id = serializers.UUIDField(
        allow_null=True, help_text="Of a memory with several claims the one that is concerned, when the others are not."
    )
    superseded_by = serializers.UUIDField(allow_null=True, help_text="The memory that holds instead.")
    status = serializers.ChoiceField(
        Status.choices, allow_null=True, help_text="What the memory is by now; null: it was evicted."
    )
    receipt_id = serializers.UUIDField(help_text="The answer that carried it.")
    namespace = serializers.CharField(source="namespace.root_name", help_text="That the answer was given in.")
    user = serializers.CharField(source="namespace.user", allow_null=True, help_text="Whose scope that was.")
    key_id = serializers.UUIDField(allow_null=True, help_text="The key that was answered.")
    told_at = serializers.DateTimeField(help_text="When it was answered.")
    created_at = serializers.DateTimeField()
