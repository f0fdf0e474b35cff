"""/api/v1/conflicts: what waits for a person, and how it is settled."""

import uuid
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.enums import Action, Keep
from conflicts.resolution import Settlement, reinstate_replaced, resolve, undo, visible_conflict, waiting
from memories import access, ingest
from memories.access import Principal
from memories.api.pagination import page_of, paged
from memories.api.votes import Nothing
from memories.models.fragment import CONTENT_LIMIT
from memories.rest.authentication import principal_of
from memories.rest.conflicts import ConflictAnswer, ConflictQuery, answers
from memories.rest.entity_tags import IF_MATCH
from memories.rest.fields import AboutUser, Flag, Strict, Text, Whole, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once

NARROWING = ("kind", "namespace", "subject", "predicate")


class CorrectionInput(Strict):
    """What is true instead of what the newcomer says."""

    content = Text(max_length=CONTENT_LIMIT)
    value = Text(max_length=1000, required=False, allow_blank=True, default="")


class ResolveInput(AboutUser):
    """A decision, on the revision that was seen."""

    action = serializers.ChoiceField(Action.choices)
    revision = Whole(min_value=1)
    keep = serializers.ChoiceField(Keep.choices, required=False)
    note = Text(max_length=1000, required=False, allow_blank=True, default="")
    ruling = Flag(default=False)
    protect = Flag(default=False, help_text="With reject: what stands is chosen, as by a ruling for it.")
    correction = CorrectionInput(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """`keep` says how both are kept."""
        if "keep" in attrs and attrs["action"] != Action.KEEP_BOTH:
            raise serializers.ValidationError({"keep": ["This goes with keep_both."]})
        if "correction" in attrs and attrs["action"] != Action.SUPERSEDE:
            raise serializers.ValidationError({"correction": ["This goes with supersede."]})
        if attrs["protect"] and attrs["action"] != Action.REJECT:
            raise serializers.ValidationError({"protect": ["This goes with reject."]})
        return attrs


class ConflictsView(APIView):
    """Conflicts."""

    @extend_schema(operation_id="conflicts_list", parameters=[ConflictQuery], responses={200: page_of(ConflictAnswer)})
    def get(self, request: Request) -> Response:
        """A page of conflicts, newest first; subject and predicate in any spelling.

        `status` is `pending` unless it is said: `resolved` or `all`.
        """
        query = validated_query(ConflictQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            narrowed: dict[str, Any] = {key: query[key] for key in NARROWING if key in query}
            rows = waiting(principal, status=query["status"], **narrowed)
            return Response(
                paged(
                    request,
                    rows,
                    lambda page: answers(principal, page),
                    limit=query["limit"],
                    cursor=query.get("cursor"),
                )
            )


class ConflictView(APIView):
    """One conflict."""

    @extend_schema(operation_id="conflicts_read", responses={200: ConflictAnswer})
    def get(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """The conflict with both sides.

        With their authorities and trusts.
        """
        principal = principal_of(request)
        with access.enter(principal, why="read"):
            return Response(answers(principal, [visible_conflict(principal, conflict_id)])[0])


def _settled(request: Request, conflict_id: uuid.UUID, settle: Any) -> Response:
    principal = principal_of(request)

    def effect(_: None) -> IdempotentAnswer:
        settle(principal)
        row = visible_conflict(principal, conflict_id)
        sides = [side for side in (row.newcomer_id, row.existing_id) if side]
        return IdempotentAnswer(200, answers(principal, [row])[0], sides)

    return answer_once(request, prepare=lambda: None, effect=effect)


class ResolveView(APIView):
    """Settling."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="conflicts_resolve",
        request=ResolveInput,
        parameters=[IDEMPOTENCY],
        responses={200: ConflictAnswer},
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Settles the conflict, with the others of the same newcomer. A key can't settle what its owner wrote.

        `action` is `supersede`, `reject` or `keep_both` (`keep`: `pair`, `period` or `predicate`), on the `revision`
        that was read.
        """
        values = validated(ResolveInput, request.data)
        typed = values.pop("correction", None)
        settlement = Settlement(**values)

        def settle(principal: Principal) -> Any:
            if typed is not None:
                return ingest.corrections.correct(principal, conflict_id, settlement, **typed, now=timezone.now())
            return resolve(principal, conflict_id, settlement, now=timezone.now())

        return _settled(request, conflict_id, settle)


class UndoView(APIView):
    """Taking back."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="conflicts_undo", request=Nothing, parameters=[IDEMPOTENCY], responses={200: ConflictAnswer}
    )
    def post(self, request: Request, conflict_id: uuid.UUID) -> Response:
        """Takes the decision back: everything is as before it, or the answer says why it can't be."""
        validated(Nothing, request.data)
        return _settled(request, conflict_id, lambda principal: undo(principal, conflict_id, now=timezone.now()))


class ReinstateInput(AboutUser):
    """Why."""

    note = Text(max_length=1000, required=False, allow_blank=True, default="")


class ReinstatedAnswer(serializers.Serializer[Any]):
    """The decisions, one for each claim that had lost."""

    conflicts = ConflictAnswer(many=True)


class ReinstateView(APIView):
    """Taking back what the rules replaced."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="fragments_reinstate",
        request=ReinstateInput,
        parameters=[IDEMPOTENCY, IF_MATCH],
        responses={200: ReinstatedAnswer},
    )
    def post(self, request: Request, fragment_id: uuid.UUID) -> Response:
        """Lets a memory stand again that another one replaced without a person; what stands against it yields.

        The decisions hold as any other's, and each can be undone.
        """
        values = validated(ReinstateInput, request.data)
        principal = principal_of(request)

        def effect(_: None) -> IdempotentAnswer:
            rows = reinstate_replaced(principal, fragment_id, note=values["note"], now=timezone.now())
            found = [visible_conflict(principal, row.id) for row in rows]
            return IdempotentAnswer(200, {"conflicts": answers(principal, found)}, [fragment_id])

        return answer_once(request, prepare=lambda: None, effect=effect)
