"""Search scopes: what of a namespace and its users is read as one; it and what a question asks of rows, as SQL."""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Model, Q

from memories.models import Namespace
from memories.retrieval.questions import Reach


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What is searched as one: a namespace or the scope of a user; `whole`: a namespace with all its users."""

    id: uuid.UUID
    root_id: uuid.UUID
    project_id: uuid.UUID
    name: str
    whole: bool = False

    @classmethod
    def of(cls, row: Namespace, *, whole: bool = False) -> "SearchScope":
        """Return a namespace, with all its users or without."""
        return cls(row.id, row.root_id, row.project_id, row.name, whole)

    @property
    def scope_id(self) -> uuid.UUID | None:
        """Which scope below the root; None for all."""
        return None if self.whole else self.id


def scopes_of(namespaces: Iterable[Namespace]) -> list[SearchScope]:
    """Namespaces as they are searched, each without the others' users."""
    return [SearchScope.of(row) for row in namespaces]


@dataclass(frozen=True, slots=True)
class Query:
    """A statement, or a part of one, and its parameters."""

    statement: str
    params: list[Any]


def inside(scopes: Sequence[SearchScope], table: str, *, worded: bool = False) -> Query:
    """Return the rows of a search table that lie in these scopes; `worded`: with ids that the planner can read."""
    roots = _among(f"{table}.root_id", (scope.root_id for scope in scopes), worded=worded)
    alone = _among(f"{table}.namespace_id", (scope.id for scope in scopes if not scope.whole), worded=worded)
    whole = _among(f"{table}.root_id", (scope.root_id for scope in scopes if scope.whole), worded=worded)
    either = " OR ".join(part.statement for part in (alone, whole) if part.statement)
    return Query(f"{roots.statement} AND ({either})", [*roots.params, *alone.params, *whole.params])


def among_roots(scopes: Sequence[SearchScope]) -> Query:
    """Return the rows of a partitioned table that may lie in these scopes: the other partitions are passed over."""
    return _among("root_id", (scope.root_id for scope in scopes))


def _among(column: str, ids: Iterable[uuid.UUID], *, worded: bool = False) -> Query:
    """Return the condition that a column is one of these: of a parameter that is a list no partition is known."""
    each = list(dict.fromkeys(ids))
    if not each:
        return Query("", [])
    values = ", ".join(f"'{one}'" if worded else "%s" for one in each)
    return Query(f"{column} IN ({values})", [] if worded else each)


def where(model: type[Model], conditions: Q) -> tuple[str, Sequence[Any]]:
    """Conditions on a model's row as SQL over its table's name, and their parameters; nothing for none."""
    if not conditions:
        return "", []
    query = model._default_manager.filter(conditions).query
    return query.where.as_sql(query.get_compiler(connection=connection), connection)


def reached(model: type[Model], reach: Reach) -> tuple[str, list[Any]]:
    """Return the reach as SQL over the model's table, and its parameters."""
    times = [reach.at, reach.at] if reach.at else []
    return _reaching(model, timeless=reach.at is None), ["", reach.session_id, *times]


@cache
def _reaching(model: type[Model], *, timeless: bool) -> str:
    """Worded once: the ORM takes longer for it than Postgres for the search."""
    return where(
        model, Reach("any", None if timeless else datetime.datetime.max.replace(tzinfo=datetime.UTC)).conditions()
    )[0]
