"""/api/v1/bridges/atlas: build logs and retrospectives in, memories for a question out."""

import hashlib
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.keys import canonical_key
from memories.bridges.events import ID_LIMIT, EventInput, StoredList, store_event, voucher_fields
from memories.ingest import Draft
from memories.models import CONTENT_LIMIT
from memories.models.enums import FragmentType, Outcome, SourceType
from memories.rest.answers import StoredAnswer
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, Flag, Moment, Strict, Text, Whole, validated, words
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.inputs import agent_form, namespace_form
from memories.rest.search import QUERY_LIMIT, WIDE, FloorField, SearchAnswer, SearchInput, search_answer

FALLBACK = "atlas"
TOLD = (SourceType.ATLAS, SourceType.RETROSPECTIVE)
# Every tag that a semantic tag of ATLAS may become, and the words that lead to it.
VOCABULARY = {
    "api": "api endpoint endpoints rest graphql rpc http route routes handler",
    "architecture": "architecture design structure module modules layer layers system component components",
    "bug": "bug bugs bugfix defect error errors fix fixes hotfix issue regression crash",
    "build": "build builds compile compiler bundle bundler webpack vite make artifact",
    "configuration": "config configs configuration setting settings env environment flag flags",
    "data": "data database db sql schema migration migrations model models query storage cache",
    "dependency": "dependency dependencies package packages library libraries import imports upgrade vendor",
    "deployment": "deploy deployment deployments release releases ci cd pipeline docker kubernetes infrastructure",
    "documentation": "doc docs documentation comment comments readme guide",
    "interface": "ui ux interface frontend component-ui view views page pages style styles css html widget",
    "performance": "performance perf latency speed optimisation optimization memory profiling throughput",
    "refactoring": "refactor refactoring cleanup rename restructure simplification",
    "security": "security auth authentication authorisation authorization crypto encryption permission secret",
    "testing": "test tests testing spec specs fixture fixtures mock mocks coverage qa",
    "tooling": "tool tools tooling cli script scripts lint linter formatter",
}
TAG_OF = {word: tag for tag, meant in VOCABULARY.items() for word in (tag, *meant.split())}
TAGS = frozenset({*VOCABULARY, FALLBACK})
OUTCOME_OF = {
    **dict.fromkeys(("success", "succeeded", "successful", "passed", "ok", "complete", "completed"), Outcome.POSITIVE),
    **dict.fromkeys(("failure", "failed", "fail", "error", "broken", "cancelled", "aborted"), Outcome.NEGATIVE),
}


def map_tags(tags: list[str]) -> list[str]:
    """Return the tags of the fixed vocabulary that semantic tags of ATLAS mean, sorted; `atlas` when none is known.

    The order and spelling of the tags make no difference.
    """
    found = {TAG_OF[word] for tag in tags for word in canonical_key(tag).replace("/", " ").split() if word in TAG_OF}
    return sorted(found) or [FALLBACK]


class LogInput(Strict):
    """A build's log entry."""

    id = Text(max_length=ID_LIMIT)
    summary = Text(max_length=CONTENT_LIMIT - 500)
    status = Text(max_length=40)
    agent = Text(max_length=63, required=False, validators=[agent_form])
    tags = words(required=False)
    at = Moment(required=False)


class BuildInput(EventInput):
    """A build that ATLAS logged."""

    project = Text(max_length=100)
    phase = serializers.JSONField()
    log = LogInput()

    def validate_phase(self, value: Any) -> str:
        """Return a number or a name."""
        if isinstance(value, bool) or not isinstance(value, int | str) or not 0 < len(str(value).strip()) <= 40:
            raise serializers.ValidationError("Give the phase's number or name.")
        return str(value).strip()


class RetrospectiveInput(EventInput):
    """What was learnt."""

    insights = serializers.ListField(child=Text(max_length=CONTENT_LIMIT), min_length=1, max_length=100)


class EnrichInput(AboutUser):
    """A question of ATLAS."""

    namespace = Text(validators=[namespace_form])
    query = Text(max_length=QUERY_LIMIT)
    top_k = Whole(min_value=0, max_value=200, required=False)
    floor = FloorField(min_value=0, max_value=1, required=False)
    project_wide = Flag(required=False, help_text=WIDE)


class TagsInput(Strict):
    """Semantic tags of a code node."""

    tags = serializers.ListField(child=Text(max_length=200), max_length=200)


class TagsAnswer(serializers.Serializer[Any]):
    """What they mean here; never empty."""

    tags = serializers.ListField(child=serializers.ChoiceField(sorted(TAGS)))


def build_draft(values: dict[str, Any]) -> Draft:
    """Return the memory of a build: what happened in which phase, and how it went."""
    log, project, phase = values["log"], values["project"], values["phase"]
    return Draft(
        **voucher_fields(values),
        content=f"Build {log['id']} of {project}, phase {phase}: {log['summary']} ({log['status']})",
        parts=[log["summary"]],
        agent_id=log.get("agent"),
        type=FragmentType.EPISODIC,
        source_type=SourceType.ATLAS,
        source_id=log["id"],
        key=f"{SourceType.ATLAS}:{log['id']}",
        workflow_id=f"{project}:{phase}",
        tags=map_tags(log.get("tags", [])),
        outcome=OUTCOME_OF.get(canonical_key(log["status"]), Outcome.NEUTRAL),
        event_at=log.get("at"),
        extra={"project": project, "phase": phase, "status": log["status"], "atlas_tags": log.get("tags", [])},
    )


def insight_draft(values: dict[str, Any], insight: str) -> Draft:
    """Return the memory of an insight; the same insight is one source."""
    return Draft(
        **voucher_fields(values),
        content=insight,
        type=FragmentType.SEMANTIC,
        source_type=SourceType.RETROSPECTIVE,
        source_id=hashlib.sha256(insight.encode()).hexdigest()[:16],
        tags=[FALLBACK],
    )


class BuildsView(APIView):
    """Builds."""

    @extend_schema(
        operation_id="bridges_atlas_builds",
        request=BuildInput,
        parameters=[IDEMPOTENCY],
        responses={201: StoredAnswer, 200: StoredAnswer},
    )
    def post(self, request: Request) -> Response:
        """Remembers a build; told again under the same id, it changes what was told."""
        return store_event(request, [build_draft(validated(BuildInput, request.data))])


class RetrospectivesView(APIView):
    """Retrospectives."""

    @extend_schema(
        operation_id="bridges_atlas_retrospectives",
        request=RetrospectiveInput,
        parameters=[IDEMPOTENCY],
        responses={201: StoredList, 200: StoredList},
    )
    def post(self, request: Request) -> Response:
        """Remembers each insight of a retrospective."""
        values = validated(RetrospectiveInput, request.data)
        insights = dict.fromkeys(values["insights"])
        return store_event(request, [insight_draft(values, insight) for insight in insights], many=True)


class EnrichView(APIView):
    """Memories for a question of ATLAS."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="bridges_atlas_enrich", request=EnrichInput, responses={200: SearchAnswer})
    def post(self, request: Request) -> Response:
        """The memories that answer it: first what ATLAS told, as far as it answers, then others, best first.

        `project_wide`, `top_k` and `floor` as in a search.
        """
        given = validated(EnrichInput, request.data)
        values = validated(SearchInput, {name: value for name, value in given.items() if value is not None})
        return Response(search_answer(principal_of(request), values, first=TOLD))


class TagsView(APIView):
    """The tag map."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="bridges_atlas_tags", request=TagsInput, responses={200: TagsAnswer})
    def post(self, request: Request) -> Response:
        """What semantic tags of ATLAS mean here: tags of a fixed vocabulary, never none."""
        return Response({"tags": map_tags(validated(TagsInput, request.data)["tags"])})
