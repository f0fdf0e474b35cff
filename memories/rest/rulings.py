"""How a ruling is answered."""

from typing import Any

from rest_framework import serializers


class RuledAnswer(serializers.Serializer[Any]):
    """A value that was chosen or ruled out, by the memory that says it."""

    fragment_id = serializers.UUIDField()
    value = serializers.CharField(allow_null=True, help_text="Null when the memory was forgotten.")


class RulingAnswer(serializers.Serializer[Any]):
    """What a decision left: the values it chose and ruled out, who decided, when and why."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.root_name")
    user = serializers.CharField(source="namespace.user", allow_null=True)
    conflict_id = serializers.UUIDField(allow_null=True)
    fragment_id = serializers.UUIDField(allow_null=True)
    scope = serializers.CharField()
    session_id = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    chosen = RuledAnswer(many=True, source="said_chosen")
    ruled_out = RuledAnswer(many=True, source="said_ruled_out")
    authority = serializers.IntegerField()
    by = serializers.CharField(allow_null=True)
    decided_by = serializers.UUIDField(allow_null=True)
    at = serializers.DateTimeField(source="decided_at")
    note = serializers.CharField()
    edited = serializers.BooleanField()
    repeats = serializers.IntegerField(help_text="How often a value that it rules out was said again.")
    repeated_at = serializers.DateTimeField(allow_null=True)


class RulingMarkAnswer(serializers.Serializer[Any]):
    """A ruling as one memory sees it: whether it chose what that says; `until` null means that it is in force."""

    id = serializers.UUIDField(source="ruling_id")
    conflict_id = serializers.UUIDField(allow_null=True)
    decision = serializers.ChoiceField(["chosen", "ruled_out"])
    authority = serializers.IntegerField()
    by = serializers.CharField(allow_null=True)
    decided_by = serializers.UUIDField(allow_null=True)
    at = serializers.DateTimeField()
    until = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField()
