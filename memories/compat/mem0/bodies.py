"""What mem0's client sends."""

import json
from typing import Any

from django.db.models import Q
from pydantic import ValidationError
from rest_framework import serializers

from memories import strict_json
from memories.compat.mem0.export_shapes import ExportShape
from memories.compat.mem0.filters import ANY, ENTITIES, AskedMemories, Conditions, Instant, asked
from memories.models import CONTENT_LIMIT
from memories.rest.fields import Flag, Id, Number, Strict, Text, UserField, Whole
from memories.rest.inputs import Extra, agent_form
from memories.rest.search import QUERY_LIMIT

LONGEST_SCHEMA, LONGEST_TICKET = 16_000, 100_000  # characters
MOST_AT_ONCE = 1000  # memories that are changed or forgotten by one request
SHOWN = (
    "id",
    "memory",
    "user_id",
    "agent_id",
    "app_id",
    "run_id",
    "metadata",
    "categories",
    "created_at",
    "updated_at",
    "score",
)


class Whose(Strict):
    """The entities that a memory belongs to."""

    user_id = UserField(allow_null=True)
    agent_id = Text(max_length=63, required=False, allow_null=True, validators=[agent_form])
    app_id = Text(max_length=255, required=False, allow_null=True)
    run_id = Text(max_length=255, required=False, allow_null=True)


class Mem0Turn(Strict):
    """One turn of a conversation."""

    role = serializers.ChoiceField(["user", "assistant", "tool", "system"])
    content = Text(max_length=100_000, allow_blank=True, trim_whitespace=False)
    name = Text(max_length=100, required=False, allow_null=True)


class Ignored(Whose):
    """What mem0's own extraction takes; there is none here, so these change nothing. Nothing expires either."""

    infer = Flag(required=False)
    async_mode = Flag(required=False)
    version = Text(required=False)
    output_format = Text(required=False)
    source = Text(required=False)
    enable_graph = Flag(required=False)
    rerank = Flag(required=False)
    keyword_search = Flag(required=False)
    latest_only = Flag(required=False)
    show_expired = Flag(required=False)
    org_id = Text(required=False)
    project_id = Text(required=False)


class AddInput(Ignored):
    """Memories to add."""

    messages = serializers.ListField(child=Mem0Turn(), min_length=1, max_length=1000)
    filters = Conditions(required=False)
    metadata = Extra(required=False, allow_null=True)
    timestamp = Instant(required=False)


class WhichMemories(Ignored):
    """Which memories."""

    filters = Conditions(required=False)
    metadata = Extra(required=False, allow_null=True)
    categories = serializers.ListField(child=Text(max_length=100), required=False, max_length=100)


class ShownMemories(WhichMemories):
    """Which memories, and what of them is shown."""

    fields_ = serializers.ListField(child=serializers.ChoiceField(SHOWN), required=False)

    def get_fields(self) -> dict[str, Any]:
        """Return the fields; a form has an attribute `fields` of its own."""
        found = super().get_fields()
        found["fields"] = found.pop("fields_")
        return found


class SearchBody(ShownMemories):
    """A question."""

    query = Text(max_length=QUERY_LIMIT)
    top_k = Whole(min_value=1, max_value=200, default=10)
    limit = Whole(min_value=1, max_value=200, required=False, help_text="What older clients call `top_k`.")
    threshold = Number(min_value=0, max_value=1, default=0.0)


class ListBody(ShownMemories):
    """Which memories, by when they were made besides."""

    start_date = Instant(required=False)
    end_date = Instant(required=False)


class PageQuery(Strict):
    """Which page."""

    page = serializers.IntegerField(min_value=1, max_value=10_000, default=1)
    page_size = serializers.IntegerField(min_value=1, max_value=200, default=100)


class ChangeInput(Strict):
    """What is to change."""

    text = Text(max_length=CONTENT_LIMIT, required=False)
    metadata = Extra(required=False)
    timestamp = Instant(required=False)


class OfSeveral(ChangeInput):
    """One of several memories, and what is to change of it."""

    memory_id = Id()


class NamedMemory(Strict):
    """One of several memories."""

    memory_id = Id()


def _each_once(rows: list[dict[str, Any]]) -> None:
    """Raise ValidationError where a memory is named twice."""
    if len({row["memory_id"] for row in rows}) < len(rows):
        raise serializers.ValidationError("Name each memory once.")


class BatchChange(Strict):
    """What is to change of several memories."""

    memories = serializers.ListField(child=OfSeveral(), min_length=1, max_length=MOST_AT_ONCE, validators=[_each_once])


class BatchDelete(Strict):
    """Several memories."""

    memories = serializers.ListField(
        child=NamedMemory(), min_length=1, max_length=MOST_AT_ONCE, validators=[_each_once]
    )


class ShapeField(serializers.JSONField):
    """A JSON schema of an object, or its text."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the shape. Raise ValidationError that says where it is wrong."""
        if len(data if isinstance(data, str) else json.dumps(data)) > LONGEST_SCHEMA:
            raise serializers.ValidationError(f"Give a schema of at most {LONGEST_SCHEMA} characters.")
        try:
            schema = strict_json.loads(data) if isinstance(data, str) else data
            strict_json.check(schema)
            shape = ExportShape.model_validate(schema)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise serializers.ValidationError(f"This is no JSON schema: {place}: {first['msg']}") from error
        except (ValueError, RecursionError) as error:
            raise serializers.ValidationError(f"This is no JSON: {error or 'it is nested too deeply'}") from error
        if not (shape.properties or shape.ref or shape.any_of or shape.all_of):
            raise serializers.ValidationError("Give a schema of an object with properties.")
        return shape


class FeedbackInput(Strict):
    """What somebody thinks of a memory; null takes it back."""

    memory_id = Id()
    feedback = serializers.ChoiceField(
        ["POSITIVE", "NEGATIVE", "VERY_NEGATIVE"], required=False, allow_null=True, default=None
    )
    feedback_reason = Text(max_length=1000, required=False, allow_null=True, allow_blank=True)


def _by_itself(values: dict[str, Any]) -> None:
    """Raise ValidationError for what is named beside an id, which says all of it."""
    if values.get("memory_export_id") and len(values) > 1:
        raise serializers.ValidationError({"memory_export_id": ["Nothing stands beside the id of an export."]})


class ExportWanted(WhichMemories):
    """Which export: one that was asked for, else the memories themselves."""

    memory_export_id = Text(max_length=LONGEST_TICKET, required=False)

    class Meta:
        validators = (_by_itself,)


class ExportInput(WhichMemories):
    """An export, in the shape of a JSON schema."""

    schema = ShapeField()
    export_instructions = Text(max_length=10_000, required=False, allow_blank=True)


def asked_for(values: dict[str, Any]) -> AskedMemories:
    """Return which memories a request names, in its filters and beside. Raise ValidationError where these differ."""
    beside = []
    if values.get("categories"):
        beside.append(("categories__in", values["categories"]))
    if values.get("metadata"):
        beside.append(("metadata__eq", values["metadata"]))
    if "start_date" in values:
        beside.append(("created_at__gte", values["start_date"]))
    if "end_date" in values:
        beside.append(("created_at__lte", values["end_date"]))
    named = {name: values[name] for name in ENTITIES if values.get(name)}
    return asked(Q(*beside) & values.get("filters", Q()), named)


def entities_of(values: dict[str, Any]) -> AskedMemories:
    """Return to whom a memory is added. Raise ValidationError where that is not one user, or said by conditions."""
    whose = asked_for({name: value for name, value in values.items() if name in (*ENTITIES, "filters")})
    if whose.user == ANY or whose.others:
        raise serializers.ValidationError({"filters": ["A memory is added to one user, agent, app and run by name."]})
    return whose
