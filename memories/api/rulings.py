"""/api/v1/rulings: what people decided, and what it binds."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from conflicts.rulings import rulings, with_words
from memories import access
from memories.api.pagination import page_of, paged
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUserQuery, Text, validated_query
from memories.rest.inputs import namespace_form
from memories.rest.rulings import RulingAnswer


class RulingQuery(AboutUserQuery):
    """The filters of a list."""

    namespace = Text(required=False, validators=[namespace_form])
    subject = Text(max_length=100, required=False)
    predicate = Text(max_length=100, required=False)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    cursor = Text(required=False)


class RulingsView(APIView):
    """Rulings."""

    @extend_schema(operation_id="rulings_list", parameters=[RulingQuery], responses={200: page_of(RulingAnswer)})
    def get(self, request: Request) -> Response:
        """A page of the rulings in force, newest first; subject and predicate in any spelling."""
        query = validated_query(RulingQuery, request)
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
