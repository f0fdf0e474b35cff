"""A list that goes on: its newest rows, and the address of the older ones."""

from dataclasses import dataclass
from typing import Any

from django.http import Http404, QueryDict
from django.urls import reverse

from memories.cursors import BadCursor, Cursor

PAGE = 50


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a list; `older` leads to the next, empty on the last page."""

    rows: list[Any]
    older: str


def page_of(rows: Any, query: QueryDict, *, of: str, by: str = "created_at") -> Page:
    """Return the page that an address asks for, newest first; `of` names the list's own address.

    Inside `access.enter`. Raise Http404.
    """
    order = (f"-{by}", "-id")
    try:
        cursor = Cursor.read(text) if (text := query.get("cursor", "")) else None
    except BadCursor as error:
        raise Http404 from error
    found = list((rows.filter(cursor.beyond(order)) if cursor else rows).order_by(*order)[: PAGE + 1])
    if len(found) <= PAGE:
        return Page(found, "")
    there = query.copy()
    there["cursor"] = str(Cursor.at(found[PAGE - 1], order))
    return Page(found[:PAGE], f"{reverse(f'console:{of}')}?{there.urlencode()}")
