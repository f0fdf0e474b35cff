"""/api/v1/search."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.answers import FragmentAnswer, answers
from memories.api.authentication import principal_of
from memories.api.fields import Flag, Moment, Number, Strict, Text, Whole, validated
from memories.api.inputs import namespace_form
from memories.models.words import FragmentType, Outcome, SourceType, Status, Tier
from memories.retrieval import BALANCED, PROFILES, Filters, Question, search

QUERY_LIMIT = 10_000


def several(choices: Any) -> serializers.ListField:
    """One value, or a list of which one has to fit."""
    return OneOrMore(child=serializers.ChoiceField(choices), max_length=50, required=False)


class OneOrMore(serializers.ListField):
    """A list, or its only element."""

    def to_internal_value(self, data: Any) -> list[Any]:
        """The list."""
        return super().to_internal_value(data if isinstance(data, list) else [data])


class FilterInput(Strict):
    """Conditions: within one "one of these", all of them together."""

    type = several(FragmentType.choices)
    source_type = several(SourceType.choices)
    tier = several(Tier.choices)
    outcome = several(Outcome.choices)
    status_filter = several(Status.choices)
    agent = OneOrMore(child=Text(max_length=63), max_length=50, required=False)
    tags = OneOrMore(child=Text(max_length=100), max_length=100, required=False)
    conversation_id = Text(max_length=255, required=False)
    workflow_id = Text(max_length=255, required=False)
    since = Moment(required=False)
    until = Moment(required=False)
    event_since = Moment(required=False)
    event_until = Moment(required=False)
    min_relevance = Number(min_value=0, max_value=1, required=False)
    min_weight = Number(min_value=0, max_value=1, required=False)
    include_all = Flag(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Periods run forward."""
        for start, end in (("since", "until"), ("event_since", "event_until")):
            if start in attrs and end in attrs and attrs[start] >= attrs[end]:
                raise serializers.ValidationError({end: [f"This has to be later than {start}."]})
        return attrs


class Weights(Strict):
    """Custom weights; what is left out keeps its default."""

    relevance = Number(min_value=0, max_value=100, required=False)
    confidence = Number(min_value=0, max_value=100, required=False)
    recency = Number(min_value=0, max_value=100, required=False)
    importance = Number(min_value=0, max_value=100, required=False)


@extend_schema_field(
    {
        "oneOf": [
            {"type": "boolean"},
            {
                "type": "object",
                "properties": {name: {"type": "number", "minimum": 0, "maximum": 100} for name in BALANCED},
                "additionalProperties": False,
            },
        ]
    }
)
class Rerank(serializers.Field[Any, Any, Any, Any]):
    """true (the profile), false (relevance alone) or custom weights."""

    def to_internal_value(self, data: Any) -> Any:
        """A truth value or the full set of weights."""
        if isinstance(data, bool):
            return data
        weights = {**BALANCED, **validated(Weights, data)}
        if not any(weights.values()):
            raise serializers.ValidationError("At least one weight has to be above zero.")
        return weights


class QuestionInput(Strict):
    """What search and context share."""

    query = Text(max_length=QUERY_LIMIT)
    namespace = Text(required=False, validators=[namespace_form])
    namespaces = serializers.ListField(
        child=Text(validators=[namespace_form]), min_length=1, max_length=50, required=False
    )
    project_wide = Flag(default=True)
    filters = FilterInput(required=False)
    min_similarity = Number(min_value=-1, max_value=1, default=0.0)
    rerank = Rerank(required=False)
    profile = serializers.ChoiceField(sorted(PROFILES), required=False)
    session_id = Text(max_length=255, required=False)
    as_of = Moment(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One way to name namespaces, one way to rank."""
        if ("namespace" in attrs) == ("namespaces" in attrs):
            raise serializers.ValidationError({"namespace": ["Give either namespace or namespaces."]})
        if isinstance(attrs.get("rerank"), dict) and "profile" in attrs:
            raise serializers.ValidationError({"rerank": ["Give either custom weights or a profile."]})
        return attrs


class SearchInput(QuestionInput):
    """A search."""

    top_k = Whole(min_value=0, max_value=200, default=10)


def question_of(values: dict[str, Any], *, top_k: int) -> Question:
    """The question that a validated request asks."""
    rerank = values.get("rerank", True)
    return Question(
        query=values["query"],
        namespaces=values.get("namespaces") or [values["namespace"]],
        project_wide=values["project_wide"],
        filters=Filters(**values.get("filters", {})),
        top_k=top_k,
        min_similarity=values["min_similarity"],
        profile="relevance" if rerank is False else values.get("profile", "balanced"),
        weights=rerank if isinstance(rerank, dict) else None,
        session_id=values.get("session_id", ""),
        as_of=values.get("as_of"),
    )


class HitAnswer(FragmentAnswer):
    """A fragment that answers, with its score and what the score is made of."""

    score = serializers.FloatField()
    ranking_signals = serializers.DictField(child=serializers.FloatField())


class SearchAnswer(serializers.Serializer[Any]):
    """The hits, best first."""

    results = HitAnswer(many=True)
    took_ms = serializers.DictField(child=serializers.FloatField())
    degraded = serializers.ListField(child=serializers.CharField())


class SearchView(APIView):
    """Search."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="search", request=SearchInput, responses={200: SearchAnswer})
    def post(self, request: Request) -> Response:
        """The memories that answer a question, best first."""
        values = validated(SearchInput, request.data)
        now = timezone.now()
        results = search(principal_of(request), question_of(values, top_k=values["top_k"]), now=now)
        shown = answers([hit.fragment for hit in results.hits], now=now)
        hits = [
            {**fragment, "score": hit.score, "ranking_signals": hit.signals}
            for fragment, hit in zip(shown, results.hits, strict=True)
        ]
        return Response({"results": hits, "took_ms": results.took_ms, "degraded": results.degraded})
