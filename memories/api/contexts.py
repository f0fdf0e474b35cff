"""/api/v1/context."""

from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.authentication import principal_of
from memories.api.fields import Flag, Number, Text, Whole, validated, words
from memories.api.search import QUERY_LIMIT, QuestionInput, question_of
from memories.models.enums import FragmentType
from memories.retrieval.context import Context, build_context, query_from
from memories.retrieval.context import Request as ContextRequest


class ContextInput(QuestionInput):
    """A context block for a prompt. Without a `query`, `events`, `goals` and `emotion` make one."""

    query = Text(max_length=QUERY_LIMIT, required=False)
    events = words(longest=500, most=100, required=False)
    goals = words(longest=500, most=8, required=False)
    emotion = Text(max_length=100, required=False)
    max_tokens = Whole(min_value=0, max_value=1_000_000, default=settings.RETRIEVAL_TOKEN_BUDGET, allow_null=True)
    max_memories = Whole(min_value=1, max_value=200, required=False)
    packing = serializers.ChoiceField(["density", "priority"], default="density")
    ratios = serializers.DictField(child=Number(min_value=0, max_value=1), required=False)
    format = serializers.ChoiceField(["markdown", "xml"], default="markdown")
    include_tombstones = Flag(default=True)
    include_tasks = Whole(min_value=0, max_value=50, default=0, help_text="So many of the latest tasks come along.")

    def validate_ratios(self, value: dict[str, float]) -> dict[str, float]:
        """Shares of the three types that do not exceed the whole."""
        if set(value) - set(FragmentType.values):
            raise serializers.ValidationError(f"Use the types {', '.join(FragmentType.values)}.")
        if not 0 < sum(value.values()) <= 1 + 1e-9:
            raise serializers.ValidationError("Give shares whose sum is above 0 and at most 1.")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A query, given or made of the cues."""
        attrs = super().validate(attrs)
        cues = {name: attrs[name] for name in ("events", "goals", "emotion") if name in attrs}
        attrs.setdefault("query", query_from(**cues))
        if not attrs["query"]:
            raise serializers.ValidationError({"query": ["Give a query, or events, goals or an emotion."]})
        return attrs


class ExcludedAnswer(serializers.Serializer[Any]):
    """A memory that was left out, and why: `budget`, `max_memories`, `rival` or `contradicts` (of a stronger claim)."""

    id = serializers.UUIDField()
    reason = serializers.CharField()
    value = serializers.FloatField()


class ContextAnswer(serializers.Serializer[Any]):
    """The block and how it came about."""

    prompt_prefix = serializers.CharField()
    memories_used = serializers.IntegerField()
    tokens_used = serializers.IntegerField()
    truncated = serializers.BooleanField()
    included = serializers.ListField(child=serializers.UUIDField())
    excluded = ExcludedAnswer(many=True)
    receipt_id = serializers.UUIDField(allow_null=True)
    degraded = serializers.ListField(child=serializers.CharField())
    nothing_relevant = serializers.BooleanField()


class ContextView(APIView):
    """Context."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="context", request=ContextInput, responses={200: ContextAnswer})
    def post(self, request: Request) -> Response:
        """A block of memories for the front of a prompt, within its budget."""
        principal = principal_of(request)
        wanted = context_of(validated(ContextInput, request.data), all_users=principal.all_users)
        return Response(answered(build_context(principal, wanted, now=timezone.now())))


def context_of(values: dict[str, Any], *, all_users: bool = False) -> ContextRequest:
    """The block that a validated request asks for."""
    ratios = {"ratios": values["ratios"]} if "ratios" in values else {}
    return ContextRequest(
        question=question_of(values, top_k=0, all_users=all_users),
        max_tokens=values["max_tokens"],
        max_memories=values.get("max_memories"),
        packing=values["packing"],
        form=values["format"],
        include_tombstones=values["include_tombstones"],
        include_tasks=values["include_tasks"],
        **ratios,
    )


def answered(found: Context) -> dict[str, Any]:
    """The block and how it came about, as the API shows it."""
    return {
        "prompt_prefix": found.prompt_prefix,
        "memories_used": len(found.included),
        "tokens_used": found.tokens_used,
        "truncated": found.truncated,
        "included": [row.id for row in found.included],
        "excluded": [{"id": i, "reason": reason, "value": value} for i, reason, value in found.excluded],
        "receipt_id": found.receipt_id,
        "degraded": found.degraded,
        "nothing_relevant": found.nothing_relevant,
    }
