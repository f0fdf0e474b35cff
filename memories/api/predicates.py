"""/api/v1/predicates: what a namespace knows of its predicates: their other names, how many values they take."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.enums import Normaliser, Policy
from conflicts.registry import (
    BadPredicate,
    built_in_predicates,
    change_predicate,
    register_predicate,
    registered_predicates,
)
from memories import access
from memories.access import NotFound
from memories.api.pagination import page_of, paged
from memories.rest.authentication import principal_of
from memories.rest.entity_tags import ETAG, IF_MATCH, matching, tagged, with_tag
from memories.rest.fields import Flag, Strict, Text, Whole, validated, validated_query, words
from memories.rest.fragments import IDEMPOTENCY
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import namespace_form

CARDINALITIES = {True: "one", False: "many"}  # by whether it is exclusive


class PredicateQuery(Strict):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    builtin = serializers.BooleanField(default=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class RuleInput(Strict):
    """What may be said of a predicate when it is registered and changed later."""

    exclusive = Flag(required=False)
    cardinality = serializers.ChoiceField(list(CARDINALITIES.values()), required=False)
    aliases = words(longest=100, most=50, required=False)
    normaliser = serializers.ChoiceField(Normaliser.choices, required=False)
    policy = serializers.ChoiceField(Policy.choices, required=False)
    # Deprecated: `policy` newest or review.
    newer_wins = Flag(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return how many values it takes and what equals do, each said in one way or in both."""
        if "cardinality" in attrs:
            one = attrs.pop("cardinality") == CARDINALITIES[True]
            if attrs.setdefault("exclusive", one) != one:
                raise serializers.ValidationError({"cardinality": ["This contradicts exclusive."]})
        if "newer_wins" in attrs:
            newest = attrs.pop("newer_wins")
            policy = attrs.setdefault("policy", Policy.NEWEST if newest else Policy.REVIEW)
            if newest != (policy == Policy.NEWEST):
                raise serializers.ValidationError({"newer_wins": ["This contradicts policy."]})
        return attrs


class PredicateInput(RuleInput):
    """A predicate to register."""

    namespace = Text(validators=[namespace_form])
    name = Text(max_length=100)


class RuleChange(RuleInput):
    """What is to change; `revision` is the one that was read."""

    revision = Whole(min_value=1, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """At least one change."""
        attrs = super().validate(attrs)
        if not set(attrs) - {"revision", "namespace", "name"}:
            raise serializers.ValidationError("Name at least one field to change.")
        return attrs


class PredicateChange(RuleChange):
    """What is to change of the predicate of that name."""

    namespace = Text(validators=[namespace_form])
    name = Text(max_length=100)


class PredicateAnswer(serializers.Serializer[Any]):
    """A predicate's rule; a built-in one has no id, namespace, revision or times."""

    id = serializers.UUIDField(allow_null=True)
    namespace = serializers.CharField(allow_null=True)
    name = serializers.CharField()
    cardinality = serializers.ChoiceField(list(CARDINALITIES.values()))
    exclusive = serializers.BooleanField()
    aliases = serializers.ListField(child=serializers.CharField())
    normaliser = serializers.ChoiceField(Normaliser.choices)
    policy = serializers.ChoiceField(Policy.choices)
    newer_wins = serializers.BooleanField(help_text="Deprecated: whether the policy is newest.")
    revision = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)


def answer(row: Any) -> dict[str, Any]:
    """Return one registered predicate, or a built-in rule."""
    own = {name: getattr(row, name, None) for name in ("id", "revision", "created_at", "updated_at")}
    rule = {name: getattr(row, name) for name in ("name", "exclusive", "aliases", "normaliser", "policy")}
    namespace = row.namespace.name if own["id"] else None
    values = {
        **own,
        **rule,
        "namespace": namespace,
        "cardinality": CARDINALITIES[row.exclusive],
        "newer_wins": row.policy == Policy.NEWEST,
    }
    return dict(PredicateAnswer(values).data)


@contextmanager
def _naming_fields() -> Iterator[None]:
    """Says in which field a name can't be kept."""
    try:
        yield
    except BadPredicate as error:
        messages: Any = [str(error)]
        place: dict[str, Any] = {error.field: messages if error.index is None else {error.index: messages}}
        raise serializers.ValidationError(place) from error


class PredicatesView(APIView):
    """Predicates: list, register, change by name."""

    verbs = {"POST": "admin", "PATCH": "admin"}
    compared = ("PATCH",)

    @extend_schema(
        operation_id="predicates_list", parameters=[PredicateQuery], responses={200: page_of(PredicateAnswer)}
    )
    def get(self, request: Request) -> Response:
        """A page of registered predicates, newest first; with `builtin` all built-in ones instead."""
        query = validated_query(PredicateQuery, request)
        principal = principal_of(request)
        if query["builtin"]:
            return Response({"next": None, "previous": None, "results": [answer(row) for row in built_in_predicates()]})
        with access.enter(principal, why="list"):
            page = paged(
                request,
                registered_predicates(principal, query.get("namespace")),
                lambda rows: [answer(row) for row in rows],
                limit=query["limit"],
                cursor=query.get("cursor"),
            )
            return Response(page)

    @extend_schema(
        operation_id="predicates_register",
        request=PredicateInput,
        parameters=[IDEMPOTENCY, ETAG],
        responses={201: PredicateAnswer},
    )
    def post(self, request: Request) -> Response:
        """Registers a rule; what is not said is as in the built-in rule of that name, else one value, as text."""
        values = validated(PredicateInput, request.data)

        def effect(_: None) -> IdempotentAnswer:
            return IdempotentAnswer(
                201, answer(register_predicate(principal_of(request), **values, now=timezone.now()))
            )

        with _naming_fields():
            return with_tag(answer_once(request, prepare=lambda: None, effect=effect))

    @extend_schema(
        operation_id="predicates_change",
        request=PredicateChange,
        parameters=[IF_MATCH, ETAG],
        responses={200: PredicateAnswer},
    )
    def patch(self, request: Request) -> Response:
        """Changes the rule of that namespace and name, in any spelling of the name; standing claims follow."""
        changes = validated(PredicateChange, request.data)
        return _changed(request, (changes.pop("namespace"), changes.pop("name")), changes)


class PredicateView(APIView):
    """One registered predicate."""

    verbs = {"PATCH": "admin"}
    compared = ("PATCH",)

    @extend_schema(operation_id="predicates_read", parameters=[ETAG], responses={200: PredicateAnswer})
    def get(self, request: Request, predicate_id: uuid.UUID) -> Response:
        """The rule."""
        with access.enter(principal_of(request), why="read"):
            row = registered_predicates(principal_of(request)).filter(id=predicate_id).first()
            if row is None:
                raise NotFound("predicate")
            return tagged(answer(row))

    @extend_schema(
        operation_id="predicates_change_by_id",
        request=RuleChange,
        parameters=[IF_MATCH, ETAG],
        responses={200: PredicateAnswer},
    )
    def patch(self, request: Request, predicate_id: uuid.UUID) -> Response:
        """Changes the rule; standing claims follow.

        `revision` or `If-Match` guards against lost updates.
        """
        return _changed(request, predicate_id, validated(RuleChange, request.data))


def _changed(request: Request, which: uuid.UUID | tuple[str, str], changes: dict[str, Any]) -> Response:
    with _naming_fields(), matching(request, changes.pop("revision", None)) as revision:
        row = change_predicate(principal_of(request), which, changes=changes, revision=revision, now=timezone.now())
    return tagged(answer(row))
