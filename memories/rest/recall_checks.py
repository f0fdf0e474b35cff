"""Forms and answers of recall checks and their runs."""

from typing import Any

from rest_framework import serializers

from memories.models import RecallCheck, RecallRun
from memories.models.enums import Expectation, RecallCause
from memories.models.recall import TOP_K
from memories.recall_checks import LARGEST, CheckDraft
from memories.rest.fields import AboutUser, AboutUserQuery, Id, Text, Whole
from memories.rest.inputs import namespace_form


class RecallCheckInput(AboutUser):
    """A check to keep: a question, and one of memory, text and value."""

    namespace = Text(validators=[namespace_form])
    name = Text(max_length=200, required=False, help_text="Once in its namespace; the question when it is left out.")
    question = Text(max_length=1000)
    memory = Id(required=False, help_text="The id of a memory that has to be among the answers.")
    text = Text(max_length=1000, required=False, help_text="Words that have to stand in one of the answers.")
    value = Text(max_length=1000, required=False, help_text="The value of a claim that one of the answers states.")
    top_k = Whole(min_value=1, max_value=100, default=TOP_K, help_text="Among how many answers.")
    note = Text(max_length=1000, required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return one expectation."""
        if sum(name in attrs for name in Expectation.values) != 1:
            raise serializers.ValidationError({"text": ["Give one of memory, text and value."]})
        return attrs


def draft_of_check(values: dict[str, Any]) -> CheckDraft:
    """Return the draft that a validated RecallCheckInput asks for."""
    (expects,) = (name for name in Expectation.values if name in values)
    return CheckDraft(
        namespace=values["namespace"],
        question=values["question"],
        expects=expects,
        expected=str(values[expects]),
        top_k=values["top_k"],
        name=values.get("name", ""),
        note=values.get("note", ""),
    )


class RecallFileInput(AboutUser):
    """A file of checks."""

    yaml = serializers.CharField(max_length=LARGEST, trim_whitespace=False, help_text="The file, as text.")


class RecallFileAnswer(serializers.Serializer[Any]):
    """All checks as a file."""

    yaml = serializers.CharField()


class RecallKeptAnswer(serializers.Serializer[Any]):
    """How many checks a file added, and how many it replaced."""

    added = serializers.IntegerField()
    replaced = serializers.IntegerField()


class RecallPlaceQuery(AboutUserQuery):
    """Of which namespace."""

    namespace = Text(required=False, validators=[namespace_form])


class RecallCheckQuery(RecallPlaceQuery):
    """The filters of a list."""

    state = serializers.ChoiceField(["passed", "failed", "never"], required=False, help_text="How the last run went.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class RecallRunInput(AboutUser):
    """What to run: the checks of a namespace, or all."""

    namespace = Text(required=False, validators=[namespace_form])


class RecallRunQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    cause = serializers.ChoiceField(RecallCause.choices, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class RecallCheckAnswer(serializers.Serializer[Any]):
    """A check, and how its last run went."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    name = serializers.CharField()
    question = serializers.CharField()
    memory = serializers.UUIDField(source="fragment_id", allow_null=True)
    text = serializers.SerializerMethodField("text_of")
    value = serializers.SerializerMethodField("value_of")
    top_k = serializers.IntegerField()
    note = serializers.CharField()
    passed = serializers.BooleanField(allow_null=True, help_text="null: it was never run.")
    place = serializers.IntegerField(allow_null=True, help_text="Where it stood, from 1; null: not among the first.")
    run_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def text_of(self, row: RecallCheck) -> str | None:
        """The words that are expected."""
        return row.expected if row.expects == Expectation.TEXT else None

    def value_of(self, row: RecallCheck) -> str | None:
        """The value that is expected."""
        return row.expected if row.expects == Expectation.VALUE else None


class KeptCheckAnswer(RecallCheckAnswer):
    """A check that was kept."""

    replaced = serializers.BooleanField(help_text="Whether it stands instead of another one of its name.")


class RecallRunAnswer(serializers.Serializer[Any]):
    """A run: why, how many passed, which failed, and which of these had passed before."""

    id = serializers.UUIDField()
    namespace = serializers.SerializerMethodField()
    cause = serializers.ChoiceField(RecallCause.choices)
    operation_id = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField()
    took_ms = serializers.IntegerField()
    passed = serializers.IntegerField()
    failed = serializers.ListField(child=serializers.UUIDField())
    lost = serializers.ListField(child=serializers.UUIDField())

    def get_namespace(self, row: RecallRun) -> str | None:
        """The namespace's name, null for several or all."""
        return row.namespace.name if row.namespace else None
