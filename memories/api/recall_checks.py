"""/api/v1/recall-checks and /api/v1/recall-runs: what the memory has to answer, and how that went."""

import uuid

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, recall_checks
from memories.access import NotFound
from memories.api.pagination import page_of, paged
from memories.rest.authentication import principal_of
from memories.rest.fields import validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.operations import OperationAnswer, started_answer
from memories.rest.recall_checks import (
    KeptCheckAnswer,
    RecallCheckAnswer,
    RecallCheckInput,
    RecallCheckQuery,
    RecallFileAnswer,
    RecallFileInput,
    RecallKeptAnswer,
    RecallPlaceQuery,
    RecallRunAnswer,
    RecallRunInput,
    RecallRunQuery,
    draft_of_check,
)

STATES = {"passed": True, "failed": False, "never": None}


class RecallChecksView(APIView):
    """Recall checks: list and keep."""

    @extend_schema(
        operation_id="recall_checks_list",
        parameters=[RecallCheckQuery],
        responses={200: page_of(RecallCheckAnswer)},
    )
    def get(self, request: Request) -> Response:
        """A page of recall checks, newest first, each with how its last run went."""
        query = validated_query(RecallCheckQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            rows = recall_checks.checks_of(principal, query.get("namespace"))
            if "state" in query:
                rows = rows.filter(passed=STATES[query["state"]])
            page = paged(
                request,
                rows,
                lambda page: list(RecallCheckAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="recall_checks_keep",
        request=RecallCheckInput,
        parameters=[IDEMPOTENCY],
        responses={200: KeptCheckAnswer, 201: KeptCheckAnswer},
    )
    def post(self, request: Request) -> Response:
        """Keeps a check: 201, or 200 and `replaced` where it stands instead of one of its namespace and name."""
        values = validated(RecallCheckInput, request.data)

        def effect(_: None) -> IdempotentAnswer:
            ((row, replaced),) = recall_checks.keep(principal_of(request), [draft_of_check(values)], now=timezone.now())
            answer = {**RecallCheckAnswer(row).data, "replaced": replaced}
            return IdempotentAnswer(200 if replaced else 201, answer)

        return answer_once(request, prepare=lambda: None, effect=effect)


class RecallCheckView(APIView):
    """One recall check."""

    @extend_schema(operation_id="recall_checks_read", responses={200: RecallCheckAnswer})
    def get(self, request: Request, check_id: uuid.UUID) -> Response:
        """The check."""
        principal = principal_of(request)
        with access.enter(principal, why="read"):
            row = recall_checks.checks_of(principal).filter(id=check_id).first()
            if row is None:
                raise NotFound("recall check")
            return Response(RecallCheckAnswer(row).data)

    @extend_schema(operation_id="recall_checks_delete", responses={204: None})
    def delete(self, request: Request, check_id: uuid.UUID) -> Response:
        """Deletes the check; runs keep its id."""
        recall_checks.remove(principal_of(request), check_id)
        return Response(status=204)


class RecallFileView(APIView):
    """Recall checks as a YAML file."""

    @extend_schema(
        operation_id="recall_checks_export", parameters=[RecallPlaceQuery], responses={200: RecallFileAnswer}
    )
    def get(self, request: Request) -> Response:
        """All checks, or those of a namespace, as the text of a YAML file."""
        query = validated_query(RecallPlaceQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="export"):
            rows = recall_checks.checks_of(principal, query.get("namespace")).in_order()
            return Response({"yaml": recall_checks.written_file(rows)})

    @extend_schema(
        operation_id="recall_checks_import",
        request=RecallFileInput,
        parameters=[IDEMPOTENCY],
        responses={200: RecallKeptAnswer},
    )
    def post(self, request: Request) -> Response:
        """Keeps all checks of a YAML file, or none: the first fault is told with its line."""
        drafts = recall_checks.read_file(validated(RecallFileInput, request.data)["yaml"])

        def effect(_: None) -> IdempotentAnswer:
            kept = recall_checks.keep(principal_of(request), drafts, now=timezone.now())
            replaced = sum(replaced for _, replaced in kept)
            return IdempotentAnswer(200, {"added": len(kept) - replaced, "replaced": replaced})

        return answer_once(request, prepare=lambda: None, effect=effect)


class RecallRunsView(APIView):
    """Runs of recall checks."""

    @extend_schema(
        operation_id="recall_runs_list", parameters=[RecallRunQuery], responses={200: page_of(RecallRunAnswer)}
    )
    def get(self, request: Request) -> Response:
        """A page of runs, newest first: those on demand, and those around operations that change recall."""
        query = validated_query(RecallRunQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            rows = recall_checks.runs_of(principal)
            if "cause" in query:
                rows = rows.filter(cause=query["cause"])
            if "namespace" in query:
                rows = rows.filter(namespace__in=access.readable_scopes(principal, [query["namespace"]]))
            page = paged(
                request,
                rows,
                lambda page: list(RecallRunAnswer(page, many=True).data),
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="recall_runs_start",
        request=RecallRunInput,
        parameters=[IDEMPOTENCY],
        responses={202: OperationAnswer},
    )
    def post(self, request: Request) -> Response:
        """Starts a run of a namespace's checks, or of all; the operation's report counts and names what fails.

        One of yours that waits to begin is answered instead of another.
        """
        values = validated(RecallRunInput, request.data)
        return started_answer(request, kind="recall", namespace=values.get("namespace"), options={})
