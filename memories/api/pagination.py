"""Lists: `{next, previous, results}`, by cursor, newest first; ties by id, so that no page skips or repeats a row."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from memories.cursors import NEWEST_FIRST, BadCursor, Cursor, reading_order

NO_CURSOR = "This is no cursor of a list."


def cursor_of(text: str | None, *, times: int = 1, ids: int = 1, texts: int = 0) -> Cursor | None:
    """Return the cursor of a link, None for none. Raise ValidationError for anything that is not one of ours."""
    try:
        return Cursor.read(text, times=times, ids=ids, texts=texts) if text else None
    except BadCursor as error:
        raise serializers.ValidationError({"cursor": [NO_CURSOR]}) from error


def page_of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """Return the shape of a page of `item`, for the OpenAPI document."""
    fields = {
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "results": item(many=True),
    }
    return type(f"{item.__name__.removesuffix('Answer')}Page", (serializers.Serializer,), fields)


def paged(
    request: Request,
    rows: QuerySet[Any],
    answers: Callable[[list[Any]], list[dict[str, Any]]],
    *,
    limit: int,
    cursor: str | None,
) -> dict[str, Any]:
    """Return one page of `rows`, each page in a fixed number of queries. Raise ValidationError for a bad cursor."""
    found, links = page_at(request, rows, NEWEST_FIRST, limit=limit, cursor=cursor_of(cursor))
    return {**links, "results": answers(found)}


def page_at(
    request: Request, rows: QuerySet[Any], order: Sequence[str], *, limit: int, cursor: Cursor | None
) -> tuple[list[Any], dict[str, str | None]]:
    """Return the page of `rows` at a cursor, in that order, and the links to its neighbours."""
    back = cursor is not None and cursor.back
    selected = rows.filter(cursor.beyond(order)) if cursor else rows
    found = list(selected.order_by(*reading_order(order, cursor))[: limit + 1])
    page = found[:limit][::-1] if back else found[:limit]

    def at(row: Any, *, back: bool) -> Cursor:
        return Cursor.at(row, order, back=back)

    return page, links_of(request, page, at, more=len(found) > limit, cursor=cursor)


def links_of(
    request: Request, page: Sequence[Any], at: Callable[..., Cursor], *, more: bool, cursor: Cursor | None
) -> dict[str, str | None]:
    """Return the links to the neighbours of the page at a cursor; `more` says whether rows are left beyond it."""
    has_next, has_previous = (True, more) if cursor and cursor.back else (more, cursor is not None)

    def link(row: Any, *, back: bool) -> str:
        return str(replace_query_param(request.build_absolute_uri(), "cursor", str(at(row, back=back))))

    return {
        "next": link(page[-1], back=False) if page and has_next else None,
        "previous": link(page[0], back=True) if page and has_previous else None,
    }
