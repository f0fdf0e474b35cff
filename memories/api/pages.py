"""Lists: `{next, previous, results}`, by cursor, newest first."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request


class Page(CursorPagination):
    """Pages of up to 200, 50 when nothing is said."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = ("-created_at", "-id")

    @staticmethod
    def of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
        """The shape of a page of `item`, for the OpenAPI document."""
        fields = {
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": item(many=True),
        }
        return type(f"{item.__name__.removesuffix('Answer')}Page", (serializers.Serializer,), fields)


def paged(
    request: Request, rows: QuerySet[Any], answers: Callable[[list[Any]], list[dict[str, Any]]]
) -> dict[str, Any]:
    """One page of `rows`, each page in a fixed number of queries."""
    pager = Page()
    page = pager.paginate_queryset(rows, request) or []
    return {"next": pager.get_next_link(), "previous": pager.get_previous_link(), "results": answers(page)}
