"""/api/v1/proposals: what a language model proposes, judged, and what became of it."""

import uuid
from collections.abc import Callable
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, governance
from memories.access import Principal
from memories.api.pagination import page_of, paged
from memories.api.votes import Nothing
from memories.governance.task_proposals import Considered, Situation
from memories.models import LlmCall, Proposal
from memories.models.enums import Decision, ProposalKind, ProposalOutcome
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, AboutUserQuery, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import Extra, namespace_form

LONGEST = 8_000


@extend_schema_field({"oneOf": [{"type": "string", "maxLength": LONGEST}, {"type": "object"}]})
class ProposalContext(Extra):
    """A text, or an object of the caller's own."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the text or object. Raise ValidationError."""
        if not isinstance(data, str):
            return super().to_internal_value(data)
        if not 0 < len(data.strip()) <= LONGEST:
            raise serializers.ValidationError(f"Give 1 to {LONGEST} characters.")
        return data.strip()


class ProposalInput(AboutUser):
    """A task that somebody is stuck with."""

    namespace = Text(validators=[namespace_form])
    task_id = Text(max_length=255)
    context = ProposalContext()


class ProposalQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    task_id = Text(max_length=255, required=False)
    kind = serializers.ChoiceField(ProposalKind.choices, required=False)
    outcome = serializers.ChoiceField(ProposalOutcome.choices, required=False)
    waiting = serializers.BooleanField(required=False, help_text="Whether it is a person's to decide.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class ProposalStatsQuery(AboutUserQuery):
    """Which namespace; without one, all that the key covers."""

    namespace = Text(required=False, validators=[namespace_form])


class CallAnswer(serializers.Serializer[Any]):
    """The provenance of a call of the language model: hashes are SHA-256 in hexadecimal."""

    id = serializers.UUIDField()
    model = serializers.CharField()
    host = serializers.CharField()
    request_hash = serializers.CharField()
    output_hash = serializers.CharField()
    outcome = serializers.CharField()
    tries = serializers.IntegerField()
    latency_ms = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class OriginAnswer(serializers.Serializer[Any]):
    """Where a proposal comes from: who judged it, and the calls that it was made by."""

    judge = serializers.CharField()
    calls = CallAnswer(many=True)


class ProposalAnswer(serializers.Serializer[Any]):
    """What a model proposed and what became of it."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.name")
    task_id = serializers.CharField()
    kind = serializers.ChoiceField(ProposalKind.choices)
    outcome = serializers.ChoiceField(ProposalOutcome.choices)
    reasons = serializers.ListField(child=serializers.CharField())
    proposal = serializers.DictField(allow_null=True)
    about = serializers.ListField(child=serializers.UUIDField())
    fragment_id = serializers.UUIDField(allow_null=True)
    waiting = serializers.BooleanField(help_text="Allowed, but for a person to decide.")
    decision = serializers.ChoiceField(Decision.choices, allow_blank=True, help_text="What a person made of it.")
    decided_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


class ShownProposal(ProposalAnswer):
    """With its provenance."""

    provenance = OriginAnswer()


class ProposalStatsAnswer(serializers.Serializer[Any]):
    """How much history is kept."""

    total_entries = serializers.IntegerField()
    task_count = serializers.IntegerField()
    reduction_client = serializers.CharField(allow_null=True, help_text="Who judges; null when nobody is bound.")


class ProposalsView(APIView):
    """Proposals: list and ask for one."""

    verbs = {"POST": "admin"}

    @extend_schema(operation_id="proposals_list", parameters=[ProposalQuery], responses={200: page_of(ShownProposal)})
    def get(self, request: Request) -> Response:
        """What was proposed and became of it: 50 of a task at the most, and 30 minutes beyond its newest."""
        query = validated_query(ProposalQuery, request)
        limit, cursor, name = query.pop("limit"), query.pop("cursor", None), query.pop("namespace", None)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            namespaces = access.requested_scopes(principal, name)
            rows = Proposal.objects.within(principal.project_id).filter(namespace__in=namespaces, **query)
            rows = rows.lasting(now=timezone.now()).select_related("namespace")
            return Response(paged(request, rows, shown, limit=limit, cursor=cursor))

    @extend_schema(
        operation_id="proposals_ask",
        request=ProposalInput,
        parameters=[IDEMPOTENCY],
        responses={201: ShownProposal},
    )
    def post(self, request: Request) -> Response:
        """Asks the language model how to go about a task; the answer is judged before it may become a memory.

        `context` is a text or an object.
        """
        principal = principal_of(request)
        values = validated(ProposalInput, request.data)
        now = timezone.now()

        def prepare() -> Considered:
            situation = Situation(values["task_id"], values["context"])
            return governance.task_proposals.ask_and_judge(principal, values["namespace"], situation, now=now)

        def effect(considered: Considered) -> IdempotentAnswer:
            row = governance.task_proposals.store_outcome(principal, considered, now=now)
            return IdempotentAnswer(201, lambda: shown([row])[0], [row.fragment_id] if row.fragment_id else [])

        return answer_once(request, prepare=prepare, effect=effect)


def shown(rows: list[Proposal]) -> list[dict[str, Any]]:
    """Return the answers, each with the calls that it was made by; to be asked inside `access.enter`."""
    ids = {i for row in rows for i in row.calls}
    project = {row.project_id for row in rows}
    calls = {call.id: call for call in LlmCall.objects.filter(project_id__in=project, id__in=ids)}
    return [
        {
            **ProposalAnswer(row).data,
            "provenance": OriginAnswer({"judge": row.judge, "calls": [calls[i] for i in row.calls if i in calls]}).data,
        }
        for row in rows
    ]


def _settled(request: Request, act: Callable[[Principal], Proposal]) -> Response:
    validated(Nothing, request.data)
    principal = principal_of(request)

    def effect(_: None) -> IdempotentAnswer:
        row = act(principal)
        return IdempotentAnswer(200, lambda: shown([row])[0], row.about)

    return answer_once(request, prepare=lambda: None, effect=effect)


class AcceptView(APIView):
    """Accepting."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="proposals_accept", request=Nothing, parameters=[IDEMPOTENCY], responses={200: ShownProposal}
    )
    def post(self, request: Request, proposal_id: uuid.UUID) -> Response:
        """The newer memory of a supersession that waits replaces the older one. A key can't decide on its owner's.

        409 `already_resolved` or `not_applicable` when it can't, as when one was rewritten since it was proposed.
        """
        now = timezone.now()
        return _settled(request, lambda by: governance.decide(by, proposal_id, Decision.ACCEPTED, now=now))


class DismissView(APIView):
    """Dismissing."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="proposals_dismiss", request=Nothing, parameters=[IDEMPOTENCY], responses={200: ShownProposal}
    )
    def post(self, request: Request, proposal_id: uuid.UUID) -> Response:
        """Both memories stay as they are; it is not proposed again."""
        now = timezone.now()
        return _settled(request, lambda by: governance.decide(by, proposal_id, Decision.DISMISSED, now=now))


class ProposalUndoView(APIView):
    """Taking back."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="proposals_undo", request=Nothing, parameters=[IDEMPOTENCY], responses={200: ShownProposal}
    )
    def post(self, request: Request, proposal_id: uuid.UUID) -> Response:
        """Takes the decision back: both memories are as before it, the proposal waits; or it says why it can't.

        409 `cannot_undo` when something changed since.
        """
        return _settled(request, lambda by: governance.undo(by, proposal_id, now=timezone.now()))


class ProposalStatsView(APIView):
    """How much history is kept."""

    @extend_schema(
        operation_id="proposals_stats", parameters=[ProposalStatsQuery], responses={200: ProposalStatsAnswer}
    )
    def get(self, request: Request) -> Response:
        """How many entries of how many tasks, in the namespaces that the key covers.

        And who judges.
        """
        query = validated_query(ProposalStatsQuery, request)
        principal, name = principal_of(request), query.get("namespace")
        with access.enter(principal, why="stats"):
            namespaces = access.requested_scopes(principal, name)
            found = governance.size(namespaces, project_id=principal.project_id, now=timezone.now())
        return Response({**found, "reduction_client": governance.judge_name()})
