"""/api/v1/search."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, validated
from memories.rest.search import SearchAnswer, SearchInput, search_answer

MOST_SEARCHES = 50


class SearchBatchInput(AboutUser):
    """Several searches."""

    searches = serializers.ListField(child=SearchInput(), min_length=1, max_length=MOST_SEARCHES)


class SearchBatchAnswer(serializers.Serializer[Any]):
    """An answer per search, in order."""

    answers = SearchAnswer(many=True)


class SearchView(APIView):
    """Search."""

    verbs = {"POST": "read"}

    @extend_schema(operation_id="search", request=SearchInput, responses={200: SearchAnswer})
    def post(self, request: Request) -> Response:
        """The memories that answer a question, best first.

        Each has its score and signals.
        """
        values = validated(SearchInput, request.data)
        return Response(search_answer(principal_of(request), values))


class SearchBatchView(APIView):
    """Several searches at once, each of which counts as a request."""

    verbs = {"POST": "read"}
    weighed_by, most_parts = "searches", MOST_SEARCHES

    @extend_schema(operation_id="search_batch", request=SearchBatchInput, responses={200: SearchBatchAnswer})
    def post(self, request: Request) -> Response:
        """Up to fifty searches in one request, an answer for each; one that is wrong refuses them all.

        Each counts as a request against the key's rate.
        """
        searches = validated(SearchBatchInput, request.data)["searches"]
        return Response({"answers": [search_answer(principal_of(request), values) for values in searches]})
