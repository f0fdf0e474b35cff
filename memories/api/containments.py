"""/api/v1/containments: what a key, an owner, a source or a text brought in is set aside at once."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories import access, containment
from memories.access import NotFound, Principal
from memories.api.pagination import cursor_of, page_at, page_of
from memories.api.votes import Nothing
from memories.containment import ContainmentGround
from memories.models import Containment
from memories.models.enums import ContainmentKind
from memories.rest.authentication import principal_of
from memories.rest.containments import (
    ContainmentAnswer,
    ContainmentInput,
    ContainmentsQuery,
    containment_answers,
)
from memories.rest.fields import validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once

NEWEST = ("-applied_at", "-id")


class ContainmentsView(APIView):
    """Containments."""

    verbs = {"GET": "admin", "POST": "admin"}

    @extend_schema(
        operation_id="containments_list",
        parameters=[ContainmentsQuery],
        responses={200: page_of(ContainmentAnswer)},
    )
    def get(self, request: Request) -> Response:
        """A page of the containments of the project, newest first."""
        query = validated_query(ContainmentsQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            rows = containment.containments(principal)
            page, links = page_at(request, rows, NEWEST, limit=query["limit"], cursor=cursor_of(query.get("cursor")))
            return Response({**links, "results": containment_answers(page)})

    @extend_schema(
        operation_id="containments_create",
        request=ContainmentInput,
        parameters=[IDEMPOTENCY],
        responses={200: ContainmentAnswer, 201: ContainmentAnswer},
    )
    def post(self, request: Request) -> Response:
        """Sets aside what was written, and what came to be believed through it; `dry_run` says what that would be.

        Its memories and what was made of them are quarantined, its keys revoked, its votes count no more. What they had
        taken the place of stands again, and what waited because of them is heard anew: belief is as if they had not
        been written. What somebody else said too, or a person chose, stays. One `undo` takes all of it back.
        """
        values = validated(ContainmentInput, request.data)
        principal, now = principal_of(request), timezone.now()

        def effect(_: None) -> IdempotentAnswer:
            with access.enter(principal, why="contain"):
                ground = _ground(principal, values)
            if values["dry_run"]:
                return IdempotentAnswer(200, _foreseen(principal, ground, values, now=now))
            wish = {"note": values["note"], "expected": values.get("expected_count")}
            row = containment.contain(principal, ground, now=now, **wish)
            return IdempotentAnswer(201, containment_answers([row])[0])

        return answer_once(request, prepare=lambda: None, effect=effect)


def _ground(principal: Principal, values: dict[str, Any]) -> ContainmentGround:
    """Raise NotFound."""
    since = values.get("since")
    if "key_id" in values:
        return containment.by_key(principal, values["key_id"], since=since)
    if "owner" in values:
        return containment.by_owner(principal, values["owner"], since=since)
    if "source_id" in values:
        return ContainmentGround(ContainmentKind.SOURCE, source_id=values["source_id"], since=since)
    return ContainmentGround(ContainmentKind.CONTENT, content=values["content"], since=since)


def _foreseen(principal: Principal, ground: ContainmentGround, values: dict[str, Any], *, now: Any) -> dict[str, Any]:
    extent = containment.preview(principal, ground, now=now)
    count = extent["written"]["count"] + extent["derived"]["count"]
    nobody = dict.fromkeys(("id", "applied_by", "applied_at", "undone_by", "undone_at"))
    told = {"kind": ground.kind, "target_id": ground.target_id, "since": ground.since, "note": values["note"]}
    return dict(ContainmentAnswer({**nobody, **told, "dry_run": True, "count": count, "extent": extent}).data)


class ContainmentView(APIView):
    """One of them."""

    verbs = {"GET": "admin"}

    @extend_schema(operation_id="containments_read", responses={200: ContainmentAnswer})
    def get(self, request: Request, containment_id: uuid.UUID) -> Response:
        """What it set aside, and who took it back."""
        principal = principal_of(request)
        with access.enter(principal, why="read"):
            row: Containment | None = containment.containments(principal).filter(id=containment_id).first()
            if row is None:
                raise NotFound("containment")
            return Response(containment_answers([row])[0])


class ContainmentUndoView(APIView):
    """Taking back."""

    verbs = {"POST": "admin"}

    @extend_schema(
        operation_id="containments_undo",
        request=Nothing,
        parameters=[IDEMPOTENCY],
        responses={200: ContainmentAnswer},
    )
    def post(self, request: Request, containment_id: uuid.UUID) -> Response:
        """Lets everything be as before it, wholly, or says what stands in the way; its keys work again."""
        validated(Nothing, request.data)
        principal = principal_of(request)

        def effect(_: None) -> IdempotentAnswer:
            row = containment.undo(principal, containment_id, now=timezone.now())
            return IdempotentAnswer(200, containment_answers([row])[0])

        return answer_once(request, prepare=lambda: None, effect=effect)
