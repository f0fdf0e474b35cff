"""/api/v1/operations: long jobs, their progress, cancelling."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, jobs, operations
from memories.access import NotFound, NotPermitted, Principal
from memories.api.authentication import principal_of
from memories.api.fields import Strict, Text, validated
from memories.api.fragments import IDEMPOTENCY
from memories.api.inputs import Extra, namespace_form
from memories.api.once import Answer, answer_once
from memories.api.pages import page_of, paged
from memories.models import Namespace, Operation
from memories.models.words import OperationState


class OperationInput(Strict):
    """A job to start."""

    kind = serializers.ChoiceField(sorted(jobs.HANDLERS))
    namespace = Text(required=False, validators=[namespace_form])
    options = Extra(required=False)


class OperationQuery(Strict):
    """The filters of a list."""

    state = serializers.ChoiceField(OperationState.choices, required=False)
    kind = Text(max_length=32, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class OperationAnswer(serializers.Serializer[Any]):
    """A long job."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    namespace = serializers.SerializerMethodField()
    options = serializers.DictField()
    dry_run = serializers.BooleanField()
    state = serializers.ChoiceField(OperationState.choices)
    stage = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField(allow_null=True)
    progress = serializers.SerializerMethodField()
    report = serializers.DictField(allow_null=True)
    error = serializers.DictField(allow_null=True)
    cancel_requested = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    heartbeat_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_namespace(self, row: Operation) -> str | None:
        """The namespace's name, None for the whole project."""
        return row.namespace.name if row.namespace else None

    def get_progress(self, row: Operation) -> float | None:
        """done / total in 0..1, None while the total is not known."""
        return round(min(1.0, row.done / row.total), 4) if row.total else None


def _rows(principal: Principal) -> Any:
    return Operation.objects.within(principal.project_id).select_related("namespace")


def _visible(principal: Principal, rows: Any) -> Any:
    covered = [namespace.id for namespace in access.all_readable(principal)]
    return rows.filter(namespace__in=covered) | rows.filter(namespace=None)


def _place(principal: Principal, name: str | None) -> Namespace | None:
    """The namespace to work on, None for the whole project. Raises NotFound, NotPermitted."""
    if name is None:
        require_all(principal)
        return None
    found: Namespace | None = Namespace.objects.within(principal.project_id).filter(name=name).first()
    if found is None or not principal.covers(name):
        raise NotFound("namespace")
    return found


def require_all(principal: Principal) -> None:
    """Whoever touches the whole project has to cover it, not only some of its namespaces."""
    if f"{principal.project}:*" not in principal.namespaces:
        raise NotPermitted("this key covers only a part of the project: name a namespace")


class OperationsView(APIView):
    """Operations: list and start."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="operations_list", parameters=[OperationQuery], responses={200: page_of(OperationAnswer)}
    )
    def get(self, request: Request) -> Response:
        """A page of operations."""
        query = validated(OperationQuery, request.query_params.dict())
        asked = {name: query[name] for name in ("state", "kind") if name in query}
        with access.enter(principal_of(request), why="list"):
            rows = _visible(principal_of(request), _rows(principal_of(request))).filter(**asked)
            page = paged(
                request,
                rows,
                lambda page: list(OperationAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="operations_start",
        request=OperationInput,
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Starts a job; follow it under its id."""
        principal = principal_of(request)
        values = validated(OperationInput, request.data)

        def effect(_: None) -> Answer:
            row = jobs.start(
                principal,
                kind=values["kind"],
                namespace=_place(principal, values.get("namespace")),
                options=values.get("options", {}),
                now=timezone.now(),
            )
            return Answer(202, OperationAnswer(row).data)

        try:
            return answer_once(request, prepare=lambda: None, effect=effect)
        except jobs.BadOptions as error:
            raise serializers.ValidationError({error.field: [str(error)]}) from error


class OperationView(APIView):
    """One operation."""

    @extend_schema(operation_id="operations_read", responses={200: OperationAnswer})
    def get(self, request: Request, operation_id: uuid.UUID) -> Response:
        """How far the job is."""
        with access.enter(principal_of(request), why="read"):
            row = _visible(principal_of(request), _rows(principal_of(request))).filter(id=operation_id).first()
            if row is None:
                raise NotFound("operation")
            return Response(OperationAnswer(row).data)


class CancelView(APIView):
    """Cancelling."""

    verbs = {"POST": "admin"}

    @extend_schema(operation_id="operations_cancel", request=None, responses={200: OperationAnswer})
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Asks the job to end between two batches; a queued one ends at once."""
        with access.enter(principal_of(request), why="cancel"):
            row = _visible(principal_of(request), _rows(principal_of(request))).filter(id=operation_id).first()
            if row is None:
                raise NotFound("operation")
            _place(principal_of(request), row.namespace and row.namespace.name)
            operations.cancel(principal_of(request), operation_id, now=timezone.now())
            return Response(OperationAnswer(_rows(principal_of(request)).get(id=operation_id)).data)
