"""Forms and answers of the context block."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from memories.models.enums import FragmentType
from memories.rest.fields import Flag, Number, Text, Whole, words
from memories.rest.search import QUERY_LIMIT, QuestionInput, question_of
from memories.retrieval.context import Context, query_from
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
        """Return a query, given or made of the cues."""
        attrs = super().validate(attrs)
        cues = {name: attrs[name] for name in ("events", "goals", "emotion") if name in attrs}
        attrs.setdefault("query", query_from(**cues))
        if not attrs["query"]:
            raise serializers.ValidationError({"query": ["Give a query, or events, goals or an emotion."]})
        return attrs


def context_of(values: dict[str, Any], *, all_users: bool = False) -> ContextRequest:
    """Return the block that a validated request asks for."""
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


def context_answer(found: Context) -> dict[str, Any]:
    """Return the block and how it came about, as the API shows it."""
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
