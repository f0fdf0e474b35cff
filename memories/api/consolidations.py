"""/api/v1/consolidations: keeping a namespace small and true; looking first, applying what was seen, taking it back."""

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, upkeep
from memories.api.operations import rows_of, undone, visible_to
from memories.api.pagination import page_of, paged
from memories.models.enums import OperationState
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, AboutUserQuery, Flag, Id, Number, Text, Whole, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.inputs import namespace_form
from memories.rest.operations import ACCEPT_HELP, OperationAnswer, started_answer

KIND = "consolidate"


def _number(kind: type[Number | Whole], name: str, **more: Any) -> Any:
    low, high = upkeep.consolidation.RANGES[name]
    return kind(required=False, **{"min_value": low, "max_value": high, **more})


class ConsolidationInput(AboutUser):
    """A consolidation to start; what is left out takes the default."""

    namespace = Text(validators=[namespace_form])
    dry_run = Flag(default=False, help_text="Only plan; the report has `plan_id`.")
    dedup_threshold = _number(Number, "dedup_threshold", help_text="Cosine above which equal memories merge, .95.")
    corroborate_threshold = _number(Number, "corroborate_threshold", help_text=".9")
    compress_age_days = _number(Whole, "compress_age_days", help_text="How long a cluster was unchanged, 30.")
    prune_superseded = Flag(required=False)
    prune_age_days = _number(Whole, "prune_age_days", help_text="How long what was replaced stays, 90.")
    method = serializers.ChoiceField(["extractive", "llm"], required=False)
    max_memories = _number(Whole, "max_memories", allow_null=True, help_text="How many memories it may change.")
    plan_id = Id(required=False, allow_null=True, help_text="Apply this plan.")
    accept_recall_loss = Flag(required=False, help_text=ACCEPT_HELP)
    confirm = Flag(required=False, help_text="Although the plan changes more than 100 memories and a fifth.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """A plan is applied, not planned again."""
        if attrs.get("plan_id") and attrs["dry_run"]:
            raise serializers.ValidationError({"plan_id": ["A dry run makes a plan of its own."]})
        if attrs.get("confirm") and not attrs.get("plan_id"):
            raise serializers.ValidationError({"confirm": ["Name the plan that is confirmed: plan_id."]})
        return attrs


class ConsolidationQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    state = serializers.ChoiceField(OperationState.choices, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class ConsolidationAnswer(OperationAnswer):
    """A run, or a dry one."""


class ConsolidationsView(APIView):
    """Consolidations: list and start."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="consolidations_list",
        parameters=[ConsolidationQuery],
        responses={200: page_of(ConsolidationAnswer)},
    )
    def get(self, request: Request) -> Response:
        """A page of runs, dry ones too, with their reports."""
        query = validated_query(ConsolidationQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            rows = visible_to(principal, rows_of(principal)).filter(kind=KIND)
            if "state" in query:
                rows = rows.filter(state=query["state"])
            if "namespace" in query:
                rows = rows.filter(namespace__in=access.readable_scopes(principal, [query["namespace"]]))
            page = paged(
                request,
                rows,
                lambda page: list(ConsolidationAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="consolidations_start",
        request=ConsolidationInput,
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Starts a consolidation, looks only (`dry_run`), or applies a plan that was looked at (`plan_id`).

        By `POST /operations` also `leave_out`: the numbers of steps that are not done.
        """
        values = validated(ConsolidationInput, request.data)
        namespace, dry_run = values.pop("namespace"), values.pop("dry_run")
        options = {name: value for name, value in values.items() if value is not None}
        if plan := options.get("plan_id"):
            options["plan_id"] = str(plan)
        return started_answer(request, kind=KIND, namespace=namespace, options=options, dry_run=dry_run)


class ConsolidationUndoView(APIView):
    """Undoing."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="consolidations_undo", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Takes back what a run did; follow the undo under its own id."""
        return undone(request, operation_id, kind=KIND)
