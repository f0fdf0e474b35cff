"""Cursors: where a page of a list begins, by the values that its rows are ordered by, as a text for an address."""

import base64
import binascii
import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from django.db.models import Q

NEWEST_FIRST = ("-created_at", "-id")


class BadCursor(ValueError):
    """A text that is no cursor of that list."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A row's values, times before ids before texts, and whether the page before it is wanted, not the one after."""

    values: tuple[Any, ...]
    back: bool = False

    @classmethod
    def at(cls, row: object, order: Sequence[str], *, back: bool = False) -> Self:
        """Return the cursor of a row in a list of that order, as `order_by` takes it."""
        return cls(tuple(getattr(row, name.removeprefix("-")) for name in order), back)

    @classmethod
    def read(cls, text: str, *, times: int = 1, ids: int = 1, texts: int = 0) -> Self:
        """Return the cursor that a text stands for. Raise BadCursor for anything else."""
        try:
            way, *parts = base64.urlsafe_b64decode(text.encode()).decode().split("|", times + ids + texts)
            moments = [datetime.datetime.fromisoformat(part) for part in parts[:times]]
            is_whole = (
                way in ("<", ">") and len(parts) == times + ids + texts and not any("\0" in part for part in parts)
            )
            if not is_whole or any(at.tzinfo is None for at in moments):
                raise BadCursor(text)
            rows = [uuid.UUID(part) for part in parts[times : times + ids]]
            moments = [moment.astimezone(datetime.UTC) for moment in moments]
            return cls((*moments, *rows, *parts[times + ids :]), way == "<")
        except (ValueError, OverflowError, binascii.Error) as error:
            raise BadCursor(text) from error

    def __str__(self) -> str:
        parts = [value.isoformat() if isinstance(value, datetime.datetime) else str(value) for value in self.values]
        return base64.urlsafe_b64encode("|".join(["<" if self.back else ">", *parts]).encode()).decode()

    def beyond(self, order: Sequence[str]) -> Q:
        """Return the rows on the wanted side, in a list of that order."""
        (first, value), *_ = pairs = list(zip(order, self.values, strict=False))
        found, same = Q(), Q()
        for name, at in pairs:
            found |= same & Q(**{f"{self._side(name)}": at})
            same &= Q(**{name.removeprefix("-"): at})
        # Said twice: this is what an index can begin at.
        return Q(**{f"{self._side(first)}e": value}) & found

    def _side(self, name: str) -> str:
        return f"{name.removeprefix('-')}__{'lt' if name.startswith('-') != self.back else 'gt'}"


def reading_order(order: Sequence[str], cursor: Cursor | None) -> list[str]:
    """Return the order in which a page is read: away from its cursor."""
    if cursor is None or not cursor.back:
        return list(order)
    return [name[1:] if name.startswith("-") else f"-{name}" for name in order]
