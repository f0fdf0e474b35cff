"""/api/v1/context."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.authentication import principal_of
from memories.api.fields import Number, Whole, validated
from memories.api.searching import QuestionInput, question_of
from memories.models.words import FragmentType
from memories.retrieval import Context, context
from memories.retrieval import Request as ContextRequest


class ContextInput(QuestionInput):
    """A context block for a prompt."""

    max_tokens = Whole(min_value=0, max_value=1_000_000, default=1200, allow_null=True)
    max_memories = Whole(min_value=1, max_value=100, required=False)
    ratios = serializers.DictField(child=Number(min_value=0, max_value=1), required=False)
    format = serializers.ChoiceField(["markdown", "xml"], default="markdown")

    def validate_ratios(self, value: dict[str, float]) -> dict[str, float]:
        """Shares of the three types that do not exceed the whole."""
        if set(value) - set(FragmentType.values):
            raise serializers.ValidationError(f"Use the types {', '.join(FragmentType.values)}.")
        if sum(value.values()) > 1 + 1e-9:
            raise serializers.ValidationError("The shares exceed 1.")
        return value


class ExcludedAnswer(serializers.Serializer[Any]):
    """A memory that was left out, and why."""

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


class ContextView(APIView):
    """Context."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="context", request=ContextInput, responses={200: ContextAnswer})
    def post(self, request: Request) -> Response:
        """A block of memories for the front of a prompt, within its budget."""
        values = validated(ContextInput, request.data)
        ratios = {"ratios": values["ratios"]} if "ratios" in values else {}
        wanted = ContextRequest(
            question=question_of(values, top_k=0),
            max_tokens=values["max_tokens"],
            max_memories=values.get("max_memories"),
            form=values["format"],
            **ratios,
        )
        return Response(_answer(context(principal_of(request), wanted, now=timezone.now())))


def _answer(found: Context) -> dict[str, Any]:
    return {
        "prompt_prefix": found.prompt_prefix,
        "memories_used": len(found.included),
        "tokens_used": found.tokens_used,
        "truncated": found.truncated,
        "included": [row.id for row in found.included],
        "excluded": [{"id": i, "reason": reason, "value": value} for i, reason, value in found.excluded],
        "receipt_id": found.receipt_id,
        "degraded": found.degraded,
    }
