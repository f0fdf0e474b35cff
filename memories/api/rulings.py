"""/api/v1/rulings: what people decided, and what it binds."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.rulings import rulings, with_words
from memories import access
from memories.api.authentication import principal_of
from memories.api.fields import AboutUserQuery, Text, validated
from memories.api.inputs import namespace_form
from memories.api.pagination import page_of, paged


class RulingQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class RuledAnswer(serializers.Serializer[Any]):
    """A value that was chosen or ruled out, by the memory that says it."""

    fragment_id = serializers.UUIDField()
    value = serializers.CharField(allow_null=True, help_text="Null when the memory was forgotten.")


class RulingAnswer(serializers.Serializer[Any]):
    """What a decision left: the values it chose and ruled out, who decided, when and why."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(source="namespace.root_name")
    user = serializers.CharField(source="namespace.user", allow_null=True)
    conflict_id = serializers.UUIDField(allow_null=True)
    fragment_id = serializers.UUIDField(allow_null=True)
    scope = serializers.CharField()
    session_id = serializers.CharField()
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    chosen = RuledAnswer(many=True, source="said_chosen")
    ruled_out = RuledAnswer(many=True, source="said_ruled_out")
    authority = serializers.IntegerField()
    by = serializers.CharField(allow_null=True)
    decided_by = serializers.UUIDField(allow_null=True)
    at = serializers.DateTimeField(source="decided_at")
    note = serializers.CharField()
    edited = serializers.BooleanField()
    repeats = serializers.IntegerField(help_text="How often a value that it rules out was said again.")
    repeated_at = serializers.DateTimeField(allow_null=True)


class RulingMarkAnswer(serializers.Serializer[Any]):
    """A ruling as one memory sees it: whether it chose what that says; `until` null means that it is in force."""

    id = serializers.UUIDField(source="ruling_id")
    conflict_id = serializers.UUIDField(allow_null=True)
    decision = serializers.ChoiceField(["chosen", "ruled_out"])
    authority = serializers.IntegerField()
    by = serializers.CharField(allow_null=True)
    decided_by = serializers.UUIDField(allow_null=True)
    at = serializers.DateTimeField()
    until = serializers.DateTimeField(allow_null=True)
    note = serializers.CharField()


class RulingsView(APIView):
    """Rulings."""

    @extend_schema(operation_id="rulings_list", parameters=[RulingQuery], responses={200: page_of(RulingAnswer)})
    def get(self, request: Request) -> Response:
        """A page of the rulings in force, newest first; subject and predicate in any spelling."""
        query = validated(RulingQuery, request.query_params.dict())
        limit, cursor = query.pop("limit"), query.pop("cursor", None)
        principal = principal_of(request)
        with access.enter(principal, why="list"):
            page = paged(
                request,
                rulings(principal, **query),
                lambda found: list(RulingAnswer(with_words(principal, found), many=True).data),
                limit=limit,
                cursor=cursor,
            )
            return Response(page)
