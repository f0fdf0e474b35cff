"""/api/v1/rulings: what people decided, and what it binds."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.front import Ruling, rulings, values_of
from memories import access
from memories.access import Principal
from memories.api.authentication import principal_of
from memories.api.fields import Strict, Text, validated
from memories.api.inputs import namespace_form
from memories.api.pages import page_of, paged
from memories.models import Owner


class RulingQuery(Strict):
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
    namespace = serializers.CharField(source="namespace.name")
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


def shown(principal: Principal, rows: Sequence[Ruling]) -> list[Ruling]:
    """The rulings with their words and names at hand, in a fixed number of queries. Inside `access.enter`."""
    said = values_of(principal.project_id, rows)
    ids = {row.decided_by for row in rows if row.decided_by}
    owners = Owner.objects.within(principal.project_id).filter(id__in=ids) if ids else ()
    names = {owner.id: owner.name.removeprefix("user:") for owner in owners}
    for row in rows:
        row.by = names.get(row.decided_by)
        row.said_chosen = [{"fragment_id": i, "value": said.get(i)} for i in row.chosen_fragments]
        row.said_ruled_out = [{"fragment_id": i, "value": said.get(i)} for i in row.ruled_out_fragments]
    return list(rows)


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
                lambda found: list(RulingAnswer(shown(principal, found), many=True).data),
                limit=limit,
                cursor=cursor,
            )
            return Response(page)
