"""/api/v1/cases: what waits for a person, by question; a question is settled at once."""

from functools import partial
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.enums import Keep
from conflicts.resolution.case_decisions import CaseDecision, Typed, clear, settle_case, undo_case
from conflicts.resolution.case_groups import grouped
from conflicts.resolution.cases import Case, CaseKey, case_of, cases_of, listed, questions
from memories import access, ingest
from memories.access import Principal
from memories.api.conflicts import CorrectionInput
from memories.api.pagination import cursor_of, page_at, page_of
from memories.api.votes import Nothing
from memories.rest.authentication import principal_of
from memories.rest.cases import (
    CaseAnswer,
    CaseConditions,
    CaseGroupAnswer,
    CaseGroupsQuery,
    CasesQuery,
    case_answers,
    filter_of,
)
from memories.rest.fields import AboutUser, Flag, Text, Whole, validated, validated_query
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once

# The columns of each order; how many of them are times, the others are texts.
ORDERS = {"oldest": (("since", "key"), 1), "newest": (("-last_at", "-key"), 1), "most": (("-weight", "-key"), 0)}


class CasesView(APIView):
    """Cases."""

    @extend_schema(operation_id="cases_list", parameters=[CasesQuery], responses={200: page_of(CaseAnswer)})
    def get(self, request: Request) -> Response:
        """A page of cases, one for each key of which a value waits: what stands, and every challenger's value.

        Conflicts that are about no key, as disputes and versions of a backup, stand in `/conflicts` alone.
        """
        query = validated_query(CasesQuery, request)
        order, times = ORDERS[query["sort"]]
        cursor = cursor_of(query.get("cursor"), times=times, ids=0, texts=len(order) - times)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            rows = listed(questions(principal, filter_of(query)))
            page, links = page_at(request, rows, order, limit=query["limit"], cursor=cursor)
            cases = cases_of(principal, [CaseKey.parse(row.key) for row in page])
            return Response({**links, "results": case_answers(cases)})


class CaseGroupsAnswer(serializers.Serializer[Any]):
    """Groups, the largest first."""

    results = CaseGroupAnswer(many=True)


class CaseGroupsView(APIView):
    """What waits, counted."""

    @extend_schema(operation_id="cases_groups", parameters=[CaseGroupsQuery], responses={200: CaseGroupsAnswer})
    def get(self, request: Request) -> Response:
        """How much waits by source, owner, namespace or predicate, the largest first, up to two hundred."""
        query = validated_query(CaseGroupsQuery, request)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            groups = grouped(principal, questions(principal, filter_of(query)), query["by"])
            return Response({"results": CaseGroupAnswer(groups, many=True).data})


class ClearInput(CaseConditions, AboutUser):
    """Which challengers to reject: those that meet all conditions, of which there has to be one."""

    note = Text(max_length=1000, required=False, allow_blank=True, default="")
    dry_run = Flag(default=False)
    after = Text(required=False, help_text="`next` of the former answer: those before it were tried.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Not everything by an oversight."""
        if filter_of(attrs) == filter_of({}):
            raise serializers.ValidationError("Say which: by namespace, subject, predicate, source, owner or pattern.")
        return attrs


class ClearRefusal(serializers.Serializer[Any]):
    """A challenger that could not be rejected, and why."""

    conflict_id = serializers.UUIDField()
    code = serializers.CharField(source="refused.code")
    detail = serializers.CharField(source="refused")


class ClearingAnswer(serializers.Serializer[Any]):
    """What became of it; with `dry_run` only what would be looked at."""

    dry_run = serializers.BooleanField()
    matched = serializers.IntegerField()
    cleared = serializers.IntegerField()
    refused = ClearRefusal(many=True)
    left = serializers.IntegerField(help_text="That meet the conditions and were not tried: ask again, `after` next.")
    next = serializers.CharField(allow_null=True)


class ClearView(APIView):
    """Clearing."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="cases_clear", request=ClearInput, parameters=[IDEMPOTENCY], responses={200: ClearingAnswer}
    )
    def post(self, request: Request) -> Response:
        """Rejects every challenger that meets the conditions, oldest first, up to a hundred in one request.

        Each is a decision of its own, which can be undone; what can't be rejected stops no other. A text is rejected as
        a whole, on every key that it speaks of.
        """
        values = validated(ClearInput, request.data)
        principal, dry_run = principal_of(request), values["dry_run"]

        def effect(_: None) -> IdempotentAnswer:
            after = cursor_of(values.get("after"))
            wish = {"note": values["note"], "dry_run": dry_run, "after": after}
            found = clear(principal, filter_of(values), now=timezone.now(), **wish)
            counts = {"dry_run": dry_run, "matched": found.matched, "cleared": found.cleared, "left": found.left}
            then = {"next": str(found.next) if found.next else None}
            answer = ClearingAnswer({**counts, **then, "refused": found.refused}).data
            return IdempotentAnswer(200, dict(answer), [])

        return answer_once(request, prepare=lambda: None, effect=effect)


class CaseView(APIView):
    """One case."""

    @extend_schema(operation_id="cases_read", responses={200: CaseAnswer})
    def get(self, request: Request, case_id: str) -> Response:
        """The case, also when it is settled."""
        principal = principal_of(request)
        with access.enter(principal, why="read"):
            return Response(case_answers([case_of(principal, case_id)])[0])


class CaseDecisionInput(AboutUser):
    """A decision, on the revision of the case that was seen: values that hold, or what is true instead."""

    revision = Whole(min_value=0)
    choose = serializers.ListField(
        child=Text(max_length=64), max_length=20, required=False, default=list, help_text="Values of the case, by id."
    )
    keep = serializers.ChoiceField(
        Keep.choices, required=False, help_text="How several are kept; pair unless it is said."
    )
    correction = CorrectionInput(required=False)
    note = Text(max_length=1000, required=False, allow_blank=True, default="")
    ruling = Flag(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One way to decide."""
        if bool(attrs["choose"]) == ("correction" in attrs):
            raise serializers.ValidationError({"choose": ["Choose values, or say what is true in `correction`."]})
        if "keep" in attrs and len(attrs["choose"]) < 2:
            raise serializers.ValidationError({"keep": ["This goes with several values."]})
        return attrs


def _settled(request: Request, settle: Any) -> Response:
    principal = principal_of(request)

    def effect(_: None) -> IdempotentAnswer:
        with access.enter(principal, why="resolve"):
            case: Case = settle(principal)
            told = [one.fragment.id for value in case.values for one in value.memories]
            return IdempotentAnswer(200, case_answers([case])[0], told)

    return answer_once(request, prepare=lambda: None, effect=effect)


class CaseResolveView(APIView):
    """Settling."""

    verbs = {"POST": "review"}

    @extend_schema(
        operation_id="cases_resolve",
        request=CaseDecisionInput,
        parameters=[IDEMPOTENCY],
        responses={200: CaseAnswer},
    )
    def post(self, request: Request, case_id: str) -> Response:
        """Settles all that waits on the key at once: what is chosen holds, every other challenger is rejected.

        One value, several (`keep`: as a pair, one after the other, or the predicate takes many), or what you type.
        Either all of it is decided or nothing. A text is decided as a whole, on every key that it speaks of.
        """
        values = validated(CaseDecisionInput, request.data)
        typed = values.pop("correction", None)

        def settle(principal: Principal) -> Case:
            now = timezone.now()
            truth = typed and Typed(typed["value"], partial(_correct, principal, **typed, now=now))
            return settle_case(principal, case_id, CaseDecision(**values), now=now, typed=truth)

        return _settled(request, settle)


def _correct(principal: Principal, conflict_id: Any, settlement: Any, says: Any, **typed: Any) -> Any:
    return ingest.corrections.correct(principal, conflict_id, settlement, says=says, **typed)


class CaseUndoView(APIView):
    """Taking back."""

    verbs = {"POST": "review"}

    @extend_schema(operation_id="cases_undo", request=Nothing, parameters=[IDEMPOTENCY], responses={200: CaseAnswer})
    def post(self, request: Request, case_id: str) -> Response:
        """Takes the last decision of the case back, wholly, or says why it can't be."""
        validated(Nothing, request.data)
        return _settled(request, lambda principal: undo_case(principal, case_id, now=timezone.now()))
