"""Forms and answers of a search: filters, question, hits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from memories.access import ONE_OR_ALL, Principal
from memories.models.enums import FragmentType, Outcome, SourceType, Status, Tier
from memories.providers import NoSuchModel, model_named
from memories.rest.answers import FragmentAnswer, answers
from memories.rest.fields import AboutUser, Flag, Id, Moment, Number, OneOrMore, Strict, Text, Whole, several, validated
from memories.rest.inputs import namespace_form
from memories.retrieval import BALANCED, PROFILES, Filters, Question, Stage, search

QUERY_LIMIT = 10_000
FOUND_BY = ("words", "meaning", "neighbour", "claim", "instruction", "source", "part")
WIDE = "Other agents' fresh memories answer too; the key has to be one that may read wide."


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
    """true (the profile), false (relevance alone, without a reranker) or custom weights."""

    def to_internal_value(self, data: Any) -> Any:
        """Return a truth value or the full set of weights."""
        if isinstance(data, bool):
            return data
        weights = {**BALANCED, **validated(Weights, data)}
        if not any(weights.values()):
            raise serializers.ValidationError("At least one weight has to be above zero.")
        return weights


@extend_schema_field({"oneOf": [{"type": "string", "enum": ["auto"]}, {"type": "number", "minimum": 0, "maximum": 1}]})
class FloorField(Number):
    """ "auto" (the model's own) or what the best hit has to reach, 0 for no floor."""

    def run_validation(self, data: Any = empty) -> float | None:
        """Return the number; None for the model's own."""
        return None if data == "auto" else super().run_validation(data)


class QuestionInput(AboutUser):
    """What search and context share."""

    query = Text(max_length=QUERY_LIMIT)
    namespace = Text(required=False, validators=[namespace_form])
    namespaces = serializers.ListField(
        child=Text(validators=[namespace_form]), min_length=1, max_length=50, required=False
    )
    project_wide = Flag(required=False, help_text=WIDE)
    filters = FilterInput(required=False)
    min_similarity = Number(min_value=-1, max_value=1, default=settings.RETRIEVAL_SIMILARITY_THRESHOLD)
    floor = FloorField(
        min_value=0,
        max_value=1,
        default=None,
        help_text="What the best hit has to reach, or nothing is answered: auto (the model's own), or 0 (none) to 1.",
    )
    rerank = Rerank(required=False)
    profile = serializers.ChoiceField(sorted(PROFILES), required=False)
    session_id = Text(max_length=255, required=False)
    as_of = Moment(required=False)
    model = Text(max_length=200, required=False)

    def validate_model(self, value: str) -> str:
        """One that is ready."""
        try:
            model_named(value)
        except NoSuchModel as error:
            raise serializers.ValidationError(str(error)) from error
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return one way to name namespaces, one way to rank."""
        if ("namespace" in attrs) == ("namespaces" in attrs):
            raise serializers.ValidationError({"namespace": ["Give either namespace or namespaces."]})
        if "user" in attrs and attrs.get("all_users"):  # of one search in a batch: of a whole request before this
            raise serializers.ValidationError({"user": [ONE_OR_ALL]})
        if isinstance(attrs.get("rerank"), dict) and "profile" in attrs:
            raise serializers.ValidationError({"rerank": ["Give either custom weights or a profile."]})
        return attrs


class SearchInput(QuestionInput):
    """A search."""

    top_k = Whole(min_value=0, max_value=200, default=settings.RETRIEVAL_TOP_K)
    explain = Flag(default=False)
    expect = Id(required=False)


def question_of(values: dict[str, Any], *, top_k: int, all_users: bool = False) -> Question:
    """Return the question that a validated request asks."""
    rerank = values.get("rerank", True)
    return Question(
        all_users=all_users,
        query=values["query"],
        namespaces=values.get("namespaces") or [values["namespace"]],
        project_wide=values.get("project_wide"),
        filters=Filters(**values.get("filters", {})),
        top_k=top_k,
        min_similarity=values["min_similarity"],
        floor=values["floor"],
        profile="relevance" if rerank is False else values.get("profile", "balanced"),
        weights=rerank if isinstance(rerank, dict) else None,
        rerank=rerank is not False,
        session_id=values.get("session_id", ""),
        as_of=values.get("as_of"),
        explain=values.get("explain", False),
        expect=values.get("expect"),
        model=values.get("model", ""),
    )


class ContradictedAnswer(serializers.Serializer[Any]):
    """The stronger claim of which a text states another value, or may, and how far that may be believed."""

    fragment_id = serializers.UUIDField()
    subject = serializers.CharField()
    predicate = serializers.CharField()
    value = serializers.CharField()
    authority = serializers.IntegerField(help_text="The claim's, or that of the ruling that chose it.")


class HitAnswer(FragmentAnswer):
    """A fragment that answers, with its score and what the score is made of."""

    score = serializers.FloatField()
    ranking_signals = serializers.DictField(child=serializers.FloatField())
    contradicts = ContradictedAnswer(allow_null=True, help_text="It stands below this, whatever its words are worth.")
    on_record = ContradictedAnswer(allow_null=True, help_text="It is near this, and may state another value of it.")


class TermAnswer(serializers.Serializer[Any]):
    """A word of the question in a candidate: how often, its part of the BM25, the candidate's rank by it."""

    term = serializers.CharField()
    times = serializers.IntegerField()
    bm25 = serializers.FloatField()
    rank = serializers.IntegerField()


class PathAnswer(serializers.Serializer[Any]):
    """One candidate's way through the search; ranks count from 1."""

    id = serializers.UUIDField()
    stage = serializers.ChoiceField([(stage.value, stage.value) for stage in Stage])
    reason = serializers.CharField()
    found_by = serializers.ListField(child=serializers.ChoiceField(FOUND_BY))
    words_rank = serializers.IntegerField(allow_null=True)
    meaning_rank = serializers.IntegerField(allow_null=True)
    rank = serializers.IntegerField(allow_null=True)
    contradicts = serializers.UUIDField(allow_null=True)
    on_record = serializers.UUIDField(allow_null=True)
    bm25 = serializers.FloatField(allow_null=True)
    cosine = serializers.FloatField(allow_null=True)
    rerank = serializers.FloatField(allow_null=True, help_text="The reranker's score; null for what it did not read.")
    relevance = serializers.FloatField(allow_null=True)


class ConsideredAnswer(PathAnswer):
    """A candidate's way, and the words that found it."""

    terms = TermAnswer(many=True)


class ExpectedAnswer(PathAnswer):
    """Where the way of the expected fragment ended, and why."""

    status = serializers.CharField(required=False)
    filters = serializers.ListField(child=serializers.CharField(), required=False)
    embedding = serializers.CharField(required=False)


class ExplanationAnswer(serializers.Serializer[Any]):
    """What the question was read as, how each namespace was searched, and every candidate's way."""

    query = serializers.CharField(help_text="The question as it was looked for, without what frames it.")
    query_keys = serializers.ListField(child=serializers.CharField())
    search_types = serializers.ListField(child=serializers.CharField())
    phrases = serializers.ListField(child=serializers.CharField())
    parts = serializers.ListField(child=serializers.CharField(), help_text="As the language model took it apart.")
    speakers = serializers.ListField(child=serializers.CharField(), help_text="Who of its persons was seen to speak.")
    period = serializers.ListField(child=serializers.DateTimeField(), allow_null=True)
    ways = serializers.DictField(child=serializers.CharField())
    floor = serializers.FloatField(allow_null=True)
    candidates = ConsideredAnswer(many=True)


class SearchAnswer(serializers.Serializer[Any]):
    """The hits, best first."""

    results = HitAnswer(many=True)
    took_ms = serializers.DictField(child=serializers.FloatField())
    degraded = serializers.ListField(child=serializers.CharField())
    nothing_relevant = serializers.BooleanField()
    explanation = ExplanationAnswer(required=False)
    expected = ExpectedAnswer(required=False)


def search_answer(principal: Principal, values: dict[str, Any], *, first: Sequence[str] = ()) -> dict[str, Any]:
    """Return the answer to a validated search; memories of the sources that come `first` stand before the others."""
    now = timezone.now()
    if "user" in values or "all_users" in values:  # of one search in a batch
        principal = principal.of_user(values.get("user"), all_users=values.get("all_users", False))
    question = question_of(values, top_k=values["top_k"], all_users=principal.all_users)
    results = search(principal, replace(question, first=first), now=now)
    shown = answers([hit.fragment for hit in results.hits], now=now, model=results.model)
    hits = [
        {
            **fragment,
            "score": hit.score,
            "ranking_signals": hit.signals,
            **hit.labels,
        }
        for fragment, hit in zip(shown, results.hits, strict=True)
    ]
    answer = {
        "results": hits,
        "took_ms": results.took_ms,
        "degraded": results.degraded,
        "nothing_relevant": results.nothing_relevant,
    }
    details = {"explanation": results.explanation, "expected": results.expected}
    return answer | {name: value for name, value in details.items() if value is not None}
