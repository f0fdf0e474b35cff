"""/api/v1/operations: long jobs, their progress, cancelling."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, erasure, jobs, operations
from memories.access import NotFound, Principal
from memories.api.pagination import page_of, paged
from memories.models import Operation
from memories.models.enums import OperationState
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, AboutUserQuery, Flag, Text, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import Extra, namespace_form
from memories.rest.operations import WITH_USERS, OperationAnswer, of_all_users, place_of, started_answer


class OperationInput(AboutUser):
    """A job to start."""

    kind = serializers.ChoiceField(sorted(name for name, kind in jobs.KINDS.items() if not kind.own_door))
    namespace = Text(required=False, validators=[namespace_form])
    options = Extra(required=False)
    dry_run = Flag(default=False)


class OperationQuery(AboutUserQuery):
    """The filters of a list."""

    state = serializers.ChoiceField(OperationState.choices, required=False)
    kind = Text(max_length=32, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


def rows_of(principal: Principal) -> Any:
    return Operation.objects.within(principal.project_id).select_related("namespace")


def visible_to(principal: Principal, rows: Any) -> Any:
    """Those of covered namespaces; those of the whole project for who covers it, unless they ask for one user."""
    covered = rows.filter(namespace__in=access.readable_scopes(principal))
    return covered | rows.filter(namespace=None) if principal.asks_for_all else covered


def changeable(principal: Principal, operation_id: uuid.UUID, *, kind: str | None = None) -> Operation:
    """Return the operation, if all that it touched is the principal's. Raise NotFound, NotPermitted."""
    rows = visible_to(principal, rows_of(principal)).filter(id=operation_id)
    row: Operation | None = (rows.filter(kind=kind) if kind else rows).first()
    if row is None:
        raise NotFound("operation")
    namespace = place_of(principal, row.namespace and row.namespace.name)
    if namespace is not None and namespace.id != row.namespace_id:  # the user's own scope of it
        raise NotFound("operation")
    if row.kind in WITH_USERS:
        of_all_users(principal, namespace)
    return row


def operation_answer(principal: Principal, row: Operation) -> dict[str, Any]:
    """The answer about an operation; whoever may see no backups reads no names of any, nor other users' memories."""
    answer = dict(OperationAnswer(row).data)
    if answer["report"] and row.kind in WITH_USERS and not principal.speaks_for_all:
        answer["report"] = {
            name: value for name, value in answer["report"].items() if not isinstance(value, list | dict)
        }
    if answer["report"] and "backups" in answer["report"] and not erasure.sees_backups(principal):
        answer["report"] = {**answer["report"], "backups": []}
    return answer


class OperationsView(APIView):
    """Operations: list and start."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="operations_list", parameters=[OperationQuery], responses={200: page_of(OperationAnswer)}
    )
    def get(self, request: Request) -> Response:
        """A page of operations."""
        query = validated_query(OperationQuery, request)
        options = {name: query[name] for name in ("state", "kind") if name in query}
        with access.enter(principal_of(request), why="list"):
            rows = visible_to(principal_of(request), rows_of(principal_of(request))).filter(**options)
            page = paged(
                request,
                rows,
                lambda page: [operation_answer(principal_of(request), row) for row in page],
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
        """Starts a job; follow it under its id.

        `rebuild` with `options.target`: `keywords embeddings entities links graph episodes clusters`; `consolidate`
        with a `namespace`; `tier`, `compact`, `evict`, `archive`. `dry_run` tells what it would do.
        """
        values = validated(OperationInput, request.data)
        return started_answer(
            request,
            kind=values["kind"],
            namespace=values.get("namespace"),
            options=values.get("options", {}),
            dry_run=values["dry_run"],
        )


def undone(request: Request, operation_id: uuid.UUID, *, kind: str | None = None) -> Response:
    """Return the answer to a request that takes a job back: 202 with the operation that does."""
    principal = principal_of(request)

    def effect(_: None) -> IdempotentAnswer:
        changeable(principal, operation_id, kind=kind)
        return IdempotentAnswer(202, OperationAnswer(jobs.start_undo(principal, operation_id, now=timezone.now())).data)

    return answer_once(request, prepare=lambda: None, effect=effect)


class OperationView(APIView):
    """One operation."""

    @extend_schema(operation_id="operations_read", responses={200: OperationAnswer})
    def get(self, request: Request, operation_id: uuid.UUID) -> Response:
        """How far the job is."""
        with access.enter(principal_of(request), why="read"):
            row = visible_to(principal_of(request), rows_of(principal_of(request))).filter(id=operation_id).first()
            if row is None:
                raise NotFound("operation")
            return Response(operation_answer(principal_of(request), row))


class CancelView(APIView):
    """Cancelling."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="operations_cancel", request=None, parameters=[IDEMPOTENCY], responses={200: OperationAnswer}
    )
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Asks the job to end between two batches; a queued one ends at once."""
        principal = principal_of(request)

        def effect(_: None) -> IdempotentAnswer:
            changeable(principal, operation_id)
            operations.cancel(principal, operation_id, now=timezone.now())
            return IdempotentAnswer(200, operation_answer(principal, rows_of(principal).get(id=operation_id)))

        return answer_once(request, prepare=lambda: None, effect=effect)


class UndoOperationView(APIView):
    """Undoing."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="operations_undo", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Takes back what a consolidation did; follow the undo under its own id.

        Or a merge, a rollback, a restore, a compaction, an eviction or a putting away.
        """
        return undone(request, operation_id)
