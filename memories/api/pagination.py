"""Lists: `{next, previous, results}`, by cursor, newest first; ties by id, so that no page skips or repeats a row."""

import base64
import binascii
import datetime
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Q, QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

NEWEST_FIRST, OLDEST_FIRST = ("-created_at", "-id"), ("created_at", "id")


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two rows, and whether the page before or after it is wanted."""

    back: bool
    at: datetime.datetime
    row: uuid.UUID

    @classmethod
    def read(cls, text: str) -> Self:
        """The cursor of a link. Raises ValidationError for anything that is not one of ours."""
        try:
            way, at, row = base64.urlsafe_b64decode(text.encode()).decode().split("|")
            moment = datetime.datetime.fromisoformat(at)
            if way not in ("<", ">") or moment.tzinfo is None:
                raise ValueError(text)
            return cls(way == "<", moment.astimezone(datetime.UTC), uuid.UUID(row))
        except (ValueError, OverflowError, binascii.Error) as error:
            raise serializers.ValidationError({"cursor": ["This is no cursor of a list."]}) from error

    def __str__(self) -> str:
        text = f"{'<' if self.back else '>'}|{self.at.isoformat()}|{self.row}"
        return base64.urlsafe_b64encode(text.encode()).decode()

    def beyond(self) -> Q:
        """The rows on the wanted side."""
        side = "gt" if self.back else "lt"
        return Q(**{f"created_at__{side}": self.at}) | Q(**{"created_at": self.at, f"id__{side}": self.row})


def page_of(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """The shape of a page of `item`, for the OpenAPI document."""
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
    """One page of `rows`, each page in a fixed number of queries. Raises ValidationError for a bad cursor."""
    place = Cursor.read(cursor) if cursor else None
    back = place is not None and place.back
    asked = rows.filter(place.beyond()) if place else rows
    found = list(asked.order_by(*(OLDEST_FIRST if back else NEWEST_FIRST))[: limit + 1])
    more, page = len(found) > limit, found[:limit]
    if back:
        page.reverse()

    def link(row: Any, *, back: bool) -> str:
        return str(
            replace_query_param(request.build_absolute_uri(), "cursor", str(Cursor(back, row.created_at, row.id)))
        )

    has_next, has_previous = (True, more) if back else (more, place is not None)
    return {
        "next": link(page[-1], back=False) if page and has_next else None,
        "previous": link(page[0], back=True) if page and has_previous else None,
        "results": answers(page),
    }
