"""/api/v1/conflicts: what waits for a person, and how it is settled."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.enums import Action, ConflictKind, ConflictReason, Keep, Resolution
from conflicts.resolution import Settlement, resolve, undo, visible_conflict, waiting, with_claims
from conflicts.rulings import binding_on, with_words
from memories import access, ingest
from memories.access import Principal
from memories.api.answers import ClaimAnswer, OrNull
from memories.api.authentication import principal_of
from memories.api.fields import AboutUser, AboutUserQuery, Flag, Strict, Text, Whole, validated
from memories.api.fragments import IDEMPOTENCY
from memories.api.idempotency import IdempotentAnswer, answer_once
from memories.api.inputs import namespace_form
from memories.api.pagination import page_of, paged
from memories.api.rulings import RulingAnswer
from memories.api.votes import Nothing
from memories.models.fragment import CONTENT_LIMIT

NARROWING = ("kind", "namespace", "subject", "predicate")


class ConflictQuery(AboutUserQuery):
    """The filters of a list."""

    status = serializers.ChoiceField(["pending", "resolved", "all"], default="pending")
    kind = serializers.ChoiceField(ConflictKind.choices, required=False)
    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class CorrectionInput(Strict):
    """What is true instead of what the newcomer says."""

    content = Text(max_length=CONTENT_LIMIT)
    value = Text(max_length=1000, required=False, default="")


class ResolveInput(AboutUser):
    """A decision, on the revision that was seen."""

    action = serializers.ChoiceField(Action.choices)
    revision = Whole(min_value=1)
    keep = serializers.ChoiceField(Keep.choices, required=False)
    note = Text(max_length=1000, required=False, allow_blank=True, default="")
    ruling = Flag(default=False)
    correction = CorrectionInput(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """`keep` says how both are kept."""
        if "keep" in attrs and attrs["action"] != Action.KEEP_BOTH:
            raise serializers.ValidationError({"keep": ["This goes with keep_both."]})
        if "correction" in attrs and attrs["action"] != Action.SUPERSEDE:
            raise serializers.ValidationError({"correction": ["This goes with supersede."]})
        return attrs


class SideAnswer(serializers.Serializer[Any]):
    """One side of a conflict."""

    id = serializers.UUIDField()
    content = serializers.CharField()
    status = serializers.CharField()
    source = serializers.CharField()
    agent_id = serializers.CharField()
    owner = serializers.UUIDField(source="owner_id", allow_null=True)
    created_at = serializers.DateTimeField()
    corroboration = serializers.IntegerField()
    reinforcements = serializers.IntegerField()
    disputes = serializers.IntegerField()
    claim = serializers.SerializerMethodField()

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_claim(self, row: Any) -> Any:
        """What it claims of what the conflict is about."""
        return ClaimAnswer(row.told).data if row.told else None


class StatementAnswer(serializers.Serializer[Any]):
    """What a free text was read as."""

    subject = serializers.CharField()
    predicate = serializers.CharField()
    value = serializers.CharField()
    negated = serializers.BooleanField()


class ConflictAnswer(serializers.Serializer[Any]):
    """A newcomer in quarantine and the standing claim that it opposes; for a dispute only the latter."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.root_name")
    user = serializers.CharField(source="namespace.user", allow_null=True)
    kind = serializers.ChoiceField(ConflictKind.choices)
    reason = serializers.ChoiceField(ConflictReason.choices)
    status = serializers.SerializerMethodField()
    revision = serializers.IntegerField()
    new_id = serializers.UUIDField(source="newcomer_id", allow_null=True)
    existing_id = serializers.UUIDField(allow_null=True)
    newcomer = SideAnswer(allow_null=True)
    existing = SideAnswer(allow_null=True)
    new_claim = serializers.SerializerMethodField()
    existing_claim = serializers.SerializerMethodField()
    statement = StatementAnswer(allow_null=True)
    new_authority = serializers.IntegerField(allow_null=True)
    existing_authority = serializers.IntegerField(allow_null=True)
    new_trust = serializers.FloatField(allow_null=True)
    existing_trust = serializers.FloatField(allow_null=True)
    created_at = serializers.DateTimeField()
    resolved_at = serializers.DateTimeField(allow_null=True)
    resolution = serializers.SerializerMethodField()
    keep = OrNull(allow_null=True)
    resolved_by = serializers.UUIDField(allow_null=True)
    note = serializers.CharField()
    ruling = RulingAnswer(allow_null=True, help_text="Of a pending one: the ruling that it opens again.")

    def get_status(self, row: Any) -> str:
        """pending or resolved."""
        return "pending" if row.resolved_at is None else "resolved"

    def get_resolution(self, row: Any) -> Resolution | None:
        """How it ended."""
        return Resolution(row.resolution) if row.resolution else None

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_new_claim(self, row: Any) -> Any:
        """What the newcomer claims."""
        return ClaimAnswer(row.new_claim).data if row.new_claim else None

    @extend_schema_field(ClaimAnswer(allow_null=True))
    def get_existing_claim(self, row: Any) -> Any:
        """What stands."""
        return ClaimAnswer(row.old_claim).data if row.old_claim else None


def answers(principal: Principal, rows: Sequence[Any]) -> list[Any]:
    """Conflicts, each with the ruling that it opens again."""
    found = binding_on([row for row in rows if row.resolved_at is None])
    told = {row.id: row for row in with_words(principal, list(found.values()))}
    with_claims(rows)
    for row in rows:
        for side, claim in ((row.newcomer, row.new_claim), (row.existing, row.old_claim)):
            if side:
                side.told = claim
        row.ruling = told[found[row.id].id] if row.id in found else None
    return list(ConflictAnswer(rows, many=True).data)


class ConflictsView(APIView):
    """Conflicts."""

    @extend_schema(operation_id="conflicts_list", parameters=[ConflictQuery], responses={200: page_of(ConflictAnswer)})
    def get(self, request: Request) -> Response:
        """A page of conflicts, newest first; subject and predicate in any spelling.

        `status` is `pending` unless it is said: `resolved` or `all`.
        """
        query = validated(ConflictQuery, request.query_params.dict())
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
