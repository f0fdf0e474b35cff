"""Statements in SQL, where the ORM has no words for them or takes longer to find these than Postgres to answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db import connection

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
