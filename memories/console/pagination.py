"""A list that goes on: its newest rows, and the address of the older ones."""

import datetime
import uuid
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Q
from django.http import Http404, QueryDict
from django.urls import reverse

PAGE = 50


@dataclass(frozen=True, slots=True)
class PageCursor:
    """Where the next page begins: after this row, newest first."""

    at: datetime.datetime
    id: uuid.UUID

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The place, or None for no cursor. Raises ValueError, OverflowError."""
        if not text:
            return None
        at, _, row_id = text.partition("~")
        return cls(datetime.datetime.fromisoformat(at).astimezone(datetime.UTC), uuid.UUID(row_id))

    def __str__(self) -> str:
        return f"{self.at.astimezone(datetime.UTC).isoformat()}~{self.id}"

    def older(self, by: str = "created_at") -> Q:
        """The rows after it."""
        same = Q(**{by: self.at, "id__lt": self.id})
        # Said twice: the first is what an index can begin at.
        return Q(**{f"{by}__lte": self.at}) & (Q(**{f"{by}__lt": self.at}) | same)


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a list; `older` leads to the next, empty on the last page."""

    rows: list[Any]
    older: str


def page_of(rows: Any, asked: QueryDict, *, of: str, by: str = "created_at") -> Page:
    """The page that an address asks for, newest first; `of` names the list's own address.

    Inside `access.enter`. Raises Http404.
    """
    try:
        cursor = PageCursor.parse(asked.get("cursor", ""))
    except (ValueError, OverflowError) as error:
        raise Http404 from error
    found = list((rows.filter(cursor.older(by)) if cursor else rows).order_by(f"-{by}", "-id")[: PAGE + 1])
    if len(found) <= PAGE:
        return Page(found, "")
    there, last = asked.copy(), found[PAGE - 1]
    there["cursor"] = str(PageCursor(getattr(last, by), last.id))
    return Page(found[:PAGE], f"{reverse(f'console:{of}')}?{there.urlencode()}")
