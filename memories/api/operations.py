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
from memories.access import NotFound, NotPermitted, Principal
from memories.api.authentication import principal_of
from memories.api.fields import AboutUser, AboutUserQuery, Flag, Text, validated
from memories.api.fragments import IDEMPOTENCY
from memories.api.idempotency import IdempotentAnswer, answer_once
from memories.api.inputs import Extra, namespace_form
from memories.api.pagination import page_of, paged
from memories.models import Namespace, Operation
from memories.models.enums import OperationState
from memories.models.namespace import is_written
from memories.operations import BadOptions


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


def rows_of(principal: Principal) -> Any:
    return Operation.objects.within(principal.project_id).select_related("namespace")


def visible_to(principal: Principal, rows: Any) -> Any:
    """Those of covered namespaces; those of the whole project for who covers it, unless they ask for one user."""
    covered = rows.filter(namespace__in=access.readable_scopes(principal))
    return covered | rows.filter(namespace=None) if principal.covers_all and principal.user is None else covered


def changeable(principal: Principal, operation_id: uuid.UUID, *, kind: str | None = None) -> Operation:
    """Return the operation, if all that it touched is the principal's. Raise NotFound, NotPermitted."""
    rows = visible_to(principal, rows_of(principal)).filter(id=operation_id)
    row: Operation | None = (rows.filter(kind=kind) if kind else rows).first()
    if row is None:
        raise NotFound("operation")
    place = place_of(principal, row.namespace and row.namespace.name)
    if place is not None and place.id != row.namespace_id:  # the user's own scope of it
        raise NotFound("operation")
    if row.kind in WITH_USERS:
        of_all_users(principal, place)
    return row


def told_to(principal: Principal, row: Operation) -> dict[str, Any]:
    """The answer about an operation; whoever may see no backups reads no names of any, nor other users' memories."""
    told = dict(OperationAnswer(row).data)
    if told["report"] and row.kind in WITH_USERS and not principal.speaks_for_all:
        told["report"] = {name: value for name, value in told["report"].items() if not isinstance(value, list | dict)}
    if told["report"] and "backups" in told["report"] and not erasure.sees_backups(principal):
        told["report"] = {**told["report"], "backups": []}
    return told


def place_of(principal: Principal, name: str | None) -> Namespace | None:
    """The namespace to work on, None for the whole project. Raises NotFound, NotPermitted."""
    if name is None:
        require_all(principal)
        return None
    found = access.find(principal, name)
    if found is None:
        raise NotFound("namespace")
    return found


def require_all(principal: Principal) -> None:
    """Whoever touches the whole project has to cover it."""
    if not principal.covers_all or principal.user is not None:
        raise NotPermitted("this request covers only a part of the project: name a namespace")


# What takes a namespace's users along, and the other namespace that it names.
WITH_USERS = {"fork": "target", "merge": "source", "pack": "", "delete": ""}


def of_all_users(principal: Principal, place: Namespace | None) -> Principal:
    """Return who touches a namespace with all its users. Raise NotPermitted where it has some who are not reached."""
    if place is None or place.user is not None:
        return principal
    everybody = principal.of_everybody()
    if not principal.speaks_for_all:
        with access.enter(everybody, why="look"):
            if Namespace.objects.within(place.project_id).below([place]).exists():
                raise NotPermitted("this is about all users of the namespace: name one, or take a key for all of them")
    return everybody


def require_places(principal: Principal, kind: str, place: Namespace | None, options: dict[str, Any]) -> None:
    """Raise NotFound, NotPermitted unless all that a job touches is the principal's: the other namespace, the users."""
    other = options.get(WITH_USERS[kind])
    if isinstance(other, str) and is_written(other):
        if not principal.covers(other):
            raise NotFound("namespace")
        of_all_users(principal, access.find(principal, other))
    of_all_users(principal, place)


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
            rows = visible_to(principal_of(request), rows_of(principal_of(request))).filter(**asked)
            page = paged(
                request,
                rows,
                lambda page: [told_to(principal_of(request), row) for row in page],
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

        `rebuild` with `options.target`: `keywords embeddings links graph episodes clusters`; `consolidate` with a
        `namespace`; `tier`, `compact`, `evict`, `archive`. `dry_run` tells what it would do.
        """
        values = validated(OperationInput, request.data)
        return started(
            request,
            kind=values["kind"],
            namespace=values.get("namespace"),
            options=values.get("options", {}),
            dry_run=values["dry_run"],
        )


def started(
    request: Request, *, kind: str, namespace: str | None, options: dict[str, Any], dry_run: bool = False
) -> Response:
    """The answer to a request that starts a job: 202 with the operation."""
    principal = principal_of(request)

    def effect(_: None) -> IdempotentAnswer:
        place = place_of(principal, namespace)
        if kind in WITH_USERS:
            require_places(principal, kind, place, options)
        wish: dict[str, Any] = {"kind": kind, "namespace": place, "options": options, "dry_run": dry_run}
        return IdempotentAnswer(202, OperationAnswer(jobs.start(principal, **wish, now=timezone.now())).data)

    try:
        return answer_once(request, prepare=lambda: None, effect=effect)
    except BadOptions as error:
        raise serializers.ValidationError({error.field: [str(error)]}) from error


def undone(request: Request, operation_id: uuid.UUID, *, kind: str | None = None) -> Response:
    """The answer to a request that takes a job back: 202 with the operation that does."""
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
            return Response(told_to(principal_of(request), row))


class CancelView(APIView):
    """Cancelling."""

    verbs = {"POST": "admin"}

    @extend_schema(operation_id="operations_cancel", request=None, responses={200: OperationAnswer})
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Asks the job to end between two batches; a queued one ends at once."""
        with access.enter(principal_of(request), why="cancel"):
            changeable(principal_of(request), operation_id)
            operations.cancel(principal_of(request), operation_id, now=timezone.now())
            return Response(told_to(principal_of(request), rows_of(principal_of(request)).get(id=operation_id)))


class UndoOperationView(APIView):
    """Undoing."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="operations_undo", request=None, parameters=[IDEMPOTENCY], responses={202: OperationAnswer}
    )
    def post(self, request: Request, operation_id: uuid.UUID) -> Response:
        """Takes back what a consolidation did; follow the undo under its own id.

        Or a merge, a compaction, an eviction or a putting away.
        """
        return undone(request, operation_id)
