"""Live rows held against the newest event of each: what was changed past the triggers, added or taken away."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth import get_user_model

from memories.models import AccountEvent, Fragment
from memories.models.history import event_models
from memories.models.sql import fetch

MOST = 100  # differences that are named of each table
Kind = Literal["row_changed", "row_without_event", "event_without_row"]
Watcher = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that is not what its history says: in which columns; `words` are those that an event has a digest of."""

    kind: Kind
    table: str
    row: str
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}: {self.table} {self.row}{': ' if self.columns else ''}{', '.join(self.columns)}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many rows were held against their events, how many differ, the first of each table, and how many of the rows
    have words that no event has a digest of."""

    rows: int
    differ: int
    differences: list[Difference]
    without_digest: int


@dataclass(frozen=True, slots=True)
class _Table:
    """A table with a history: the columns that its events hold too, and what is worked out of its rows to compare."""

    live: str
    events: str
    key: str
    columns: tuple[str, ...]
    # Expressions over a row `t` and the project `p`, by name; a name's condition says when it differs.
    worked_out: dict[str, str]
    conditions: dict[str, str]
    digest: bool = False
    in_project: bool = True

    @property
    def tells(self) -> dict[str, str]:
        """By what a person calls it: the condition under which the row differs from its event."""
        return {column: f'l."{column}" IS DISTINCT FROM e."{column}"' for column in self.columns} | self.conditions


def compare(project_id: UUID, *, watcher: Watcher | None = None) -> Comparison:
    """Hold every row of the project that has a history, and every account, against its newest event."""
    rows, differ, without, found = 0, 0, 0, []
    tables = list(_tables())
    for number, table in enumerate(tables):
        if watcher:
            watcher(table.live, number, len(tables))
        ((here, differing, undigested),) = fetch(_statement(table, COUNTED), {"project": project_id})
        rows, differ, without = rows + here, differ + differing, without + undigested
        if differing:
            named = fetch(f"{_statement(table, NAMED)} LIMIT {MOST}", {"project": project_id})
            found += [Difference(kind, table.live, row, tuple(columns)) for kind, row, columns in named]
    return Comparison(rows, differ, found, without)


PAIRED = """
    WITH e AS (
        SELECT DISTINCT ON (pgh_obj_id) * FROM {events} {of_project} ORDER BY pgh_obj_id, pgh_id DESC),
    l AS (
        SELECT t.{key} AS its_key, {told} FROM {live} t JOIN memories_project p ON p.id = %(project)s {of_project}),
    pair AS (
        SELECT CASE WHEN e.pgh_obj_id IS NULL OR l.its_key IS NOT NULL AND e.pgh_label = 'delete'
                    THEN 'row_without_event'
                WHEN l.its_key IS NULL AND e.pgh_label <> 'delete' THEN 'event_without_row'
                WHEN l.its_key IS NOT NULL AND ({any}) THEN 'row_changed' END AS kind,
            coalesce(l.its_key, e.pgh_obj_id)::text AS row,
            CASE WHEN l.its_key IS NOT NULL AND e.pgh_label <> 'delete' THEN {columns} ELSE '{{}}' END AS columns,
            l.its_key IS NOT NULL AS here, {undigested} AS undigested
        FROM l FULL JOIN e ON e.pgh_obj_id = l.its_key)
"""
COUNTED = """
    SELECT count(*) FILTER (WHERE here), count(kind), count(*) FILTER (WHERE here AND undigested) FROM pair"""
NAMED = "SELECT kind, row, columns FROM pair WHERE kind IS NOT NULL ORDER BY row"


def _statement(table: _Table, condition: str) -> str:
    cases = ", ".join(f"CASE WHEN {differs} THEN '{name}' END" for name, differs in table.tells.items())
    own = [f't."{column}"' for column in table.columns]
    return (
        PAIRED.format(
            events=table.events,
            live=table.live,
            key=table.key,
            told=", ".join([*own, *(f'{expression} AS "{name}"' for name, expression in table.worked_out.items())]),
            of_project="WHERE project_id = %(project)s" if table.in_project else "",
            any=" OR ".join(table.tells.values()),
            columns=f"array_remove(ARRAY[{cases}], NULL)",
            undigested="e.details_digest IS NULL" if table.digest else "false",
        )
        + condition
    )


def _tables() -> Iterator[_Table]:
    for events in event_models():
        yield _of_model(events)
    accounts = get_user_model()._meta
    yield _Table(
        live=accounts.db_table,
        events=AccountEvent._meta.db_table,
        key="id",
        columns=("is_superuser", "is_staff", "is_active"),
        worked_out={"credentials": "nova_credentials_digest(t)"},
        conditions={"credentials": "l.credentials IS DISTINCT FROM e.credentials_digest"},
        in_project=False,
    )


def _of_model(events: type[Any]) -> _Table:
    """What a late column was is not known of the events of before, nor of what words they have no digest."""
    live = events.pgh_tracked_model._meta
    kept = {field.column: field for field in live.concrete_fields}
    held = [field for field in events._meta.concrete_fields if field.column in kept]
    late = [field.column for field in held if field.name in events.late]
    columns = tuple(field.column for field in held if field.column not in late)
    worked_out = {f"now_{column}": f't."{column}"' for column in late}
    conditions = {column: f'e."{column}" IS NOT NULL AND l."now_{column}" <> e."{column}"' for column in late}
    table = partial(_Table, live.db_table, events._meta.db_table, live.pk.column, columns)
    if events.pgh_tracked_model is Fragment:
        worked_out |= {
            "its_print": "nova_keyed(p.salt, t.content)",
            "its_digest": "nova_details_digest(p.salt, t)",
            # The events of before hold this one.
            "its_former": "nova_former_details_digest(p.salt, t)",
        }
        conditions["content"] = "l.its_print IS DISTINCT FROM e.fingerprint"
        conditions["words"] = "e.details_digest NOT IN (l.its_digest, l.its_former)"
        return table(worked_out, conditions)
    digest = any(field.name == "details_digest" for field in events._meta.concrete_fields)
    if digest:
        worked_out["its_digest"] = "nova_details_digest(p.salt, t)"
        conditions["words"] = "e.details_digest <> l.its_digest"
    return table(worked_out, conditions, digest)
