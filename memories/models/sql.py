"""Statements in SQL, where the ORM has no words for them or takes longer to find these than Postgres to answer."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from django.db import NotSupportedError, OperationalError, connection
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg.pq import Format
from psycopg.raw_cursor import RawCursorMixin

Values = Sequence[Any] | Mapping[str, Any]

# A project as the planner can't look it up: a new one that statistics have not seen yet would count as empty, and every
# index that reads all of it for as good as the one that reads a row.
PROJECT = "(SELECT %s::uuid)"


def array_of(values: Iterable[Any]) -> str:
    """Return texts or ids as Postgres writes an array, in less time than psycopg takes to adapt each."""
    words = [str(value).replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(words) + '"}' if words else "{}"


def fetch(statement: str, values: Values) -> list[tuple[Any, ...]]:
    """Return all rows that a statement answers, inside the open transaction."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def fetch_prepared(statement: str, values: Values, *, binary: bool = False) -> list[tuple[Any, ...]]:
    """As `fetch`, by a statement that a session of Postgres parses and plans once; `binary`: rows in its own form.

    Raise OperationalError where a migration changed meanwhile what it returns; the next connection knows that.
    """
    with prepared_cursor(binary=binary) as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


VALUE = re.compile(r"%%|%s|%\((\w+)\)s|%")


class PreparedCursor(RawCursorMixin[Any, Any], ServerBindingCursor):
    """Sends a statement with its values beside it; of long ones the driver would look for these each time."""

    def execute(self, query: str, params: Values = (), **how: Any) -> Any:
        """Run a statement whose values are worded as everywhere: `%s`, or `%(name)s`."""
        worded, names = numbered(query)
        values = [params[name] for name in names] if isinstance(params, Mapping) else params
        return super().execute(worded, values, **how)


@lru_cache(maxsize=128)
def numbered(statement: str) -> tuple[str, list[str]]:
    """Return a statement with its values worded as Postgres does, $1, $2, …, and the names of those that have one.

    Raise ValueError for a % that stands for none, as the driver would.
    """
    places: dict[str, int] = {}

    def place(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        if found[0] == "%":
            raise ValueError(f"a % that is no value has to be worded %%: {statement[found.start() :][:20]}")
        return f"${places.setdefault(found[1] or str(len(places)), len(places) + 1)}"

    return VALUE.sub(place, statement), list(places)


@contextmanager
def prepared_cursor(*, binary: bool = False) -> Iterator[Any]:
    """Return a cursor for what `fetch_prepared` does: the text names no values, these go beside it."""
    connection.ensure_connection()
    # Whoever collects statements reads them with their values.
    if connection.queries_logged or not keeps_statements():
        with connection.cursor() as named:
            yield named
        return
    session: Any = connection.connection
    cursor: Any = PreparedCursor(session)
    cursor.format = Format.BINARY if binary else Format.TEXT
    # Only meanwhile: psycopg would remember the text of whatever others execute, too.
    session.prepare_threshold = 0
    try:
        with connection.make_cursor(cursor) as wrapped:
            yield wrapped
    except NotSupportedError as error:
        diagnosis = getattr(error.__cause__, "diag", None)
        if getattr(diagnosis, "source_function", None) != REVALIDATION:
            raise
        session.close()
        raise OperationalError("the tables were changed meanwhile") from error.__cause__
    finally:
        session.prepare_threshold = None


@contextmanager
def copying(statement: Any) -> Iterator[Any]:
    """Return a COPY, whose errors are Django's as those of other statements are: psycopg's own are nobody's here."""
    with connection.cursor() as cursor, connection.wrap_database_errors, cursor.copy(statement) as copy:
        yield copy


def keeps_statements() -> bool:
    """Return whether the open connection prepares anything. Raise OperationalError where it is lost."""
    with connection.wrap_database_errors:
        return _is_own(connection.connection)


def _is_own(session: Any) -> bool:
    """Return whether a connection is a session of Postgres; a pooler hands out another one for each transaction."""
    if session not in _sessions:
        ((which,),) = session.execute("SELECT pg_backend_pid()").fetchall()
        _sessions[session] = which == session.info.backend_pid
        session.prepared_max = MOST_PREPARED
    return _sessions[session]


MOST_PREPARED = 40  # statements of a session: the plan of the largest takes a megabyte
REVALIDATION = "RevalidateCachedQuery"  # where Postgres finds that a plan's columns are others now
_sessions: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def execute_prepared(statement: str, values: Values) -> None:
    """As `execute`, by a statement that a session of Postgres parses and plans once. Raise as `fetch_prepared`."""
    with prepared_cursor() as cursor:
        cursor.execute(statement, values)


def execute(statement: str, values: Values) -> int:
    """Run a statement that answers nothing, inside the open transaction; how many rows it concerned."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def batches(statement: str, values: Values, *, size: int) -> Iterator[list[tuple[Any, ...]]]:
    """Return the rows of a statement, so many at a time: the server's cursor lives as long as the open transaction."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, values)
        while rows := cursor.fetchmany(size):
            yield list(rows)


def horizon() -> int:
    """Transactions below this id are over: nothing of them can still appear in this database."""
    # One of another database that ends while it is looked for holds that look back, and not the next.
    looks = [fetch("SELECT nova_horizon()::text", []) for _ in range(2)]
    return max(int(found) for ((found,),) in looks)
