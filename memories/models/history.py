"""Row history: triggers write one event per change, whoever made it (docs/spec.md §4 audit)."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pghistory
import pgtrigger
from django.db import models

from memories.models.sql import execute
from memories.models.table_spec import TableSpec
from memories.models.tenant import Current, Xid8Field

# Not exported: bound to its instance.
EVENTS = TableSpec(kind="operational", erase="kept")


def tracked(
    *fields: str, find_by: tuple[str, ...] = (), digested: tuple[str, ...] = (), late: tuple[str, ...] = ()
) -> Callable[[type[models.Model]], type[models.Model]]:
    """Keep the history of these columns in `<Model>Event`: ids, enums, numbers, times and digests, never text.

    Each event says who, through which key or page and why in `pgh_context` (set by `access.enter`), and in which
    transaction it was recorded, so that the seals miss no late commit. Events are found by the columns of `find_by`.
    Of the columns `digested` an event has one keyed digest, which a trigger on its table works out. Columns that came
    `late` are null in the events of before, so that the seals over these still fit.
    """
    digest = {"details_digest": models.BinaryField(max_length=32, null=True)} if digested else {}

    def decorate(model: type[models.Model]) -> type[models.Model]:
        name = model.__name__.lower()
        track = pghistory.track(
            pghistory.InsertEvent(),
            pghistory.UpdateEvent(condition=pgtrigger.AnyChange(*fields, *late, *digested)),
            pghistory.DeleteEvent(),
            fields=[*fields, *late],
            model_name=f"{model.__name__}Event",
            obj_field=pghistory.ObjForeignKey(related_name="events", related_query_name="events", db_index=False),
            context_field=pghistory.ContextJSONField(),
            append_only=True,
            level=pgtrigger.Statement,  # one statement for all rows: a fifth of the time where thousands change
            attrs={
                "pgh_id": models.BigAutoField(primary_key=True),
                "recorded_in": Xid8Field(db_default=Current(), editable=False),
                "spec": EVENTS,
                "late": late,
                **digest,
                **{column: _nullable(model, column) for column in late},
            },
            meta={
                "indexes": [
                    # Sealing and reading on from a point.
                    models.Index(fields=["project", "recorded_in", "pgh_id"], name=f"{name}_event_order"),
                    # What became of one object, and what an event found before it.
                    models.Index(fields=["pgh_obj", "pgh_id"], name=f"{name}_event_before"),
                    *([models.Index(fields=["project", *find_by], name=f"{name}_event_found")] if find_by else []),
                ]
            },
        )
        result: type[models.Model] = track(model)
        return result

    return decorate


def _nullable(model: type[models.Model], column: str) -> Any:
    field: Any = model._meta.get_field(column).clone()  # type: ignore[union-attr]
    field.null = True
    return field


def event_models() -> list[type[Any]]:
    """Return the event model of every tracked model, by table name."""
    return sorted(pghistory.core.event_models(), key=lambda model: model._meta.db_table)


def events_of(model: type[models.Model]) -> Any:
    """Return the event model of a tracked model."""
    (found,) = pghistory.core.event_models(tracks_model=model)
    return found


def actor_of(event: Any) -> uuid.UUID | None:
    """Return the owner, a person or a service account, who made a change; None where nobody is named."""
    text = (event.pgh_context or {}).get("owner")
    return uuid.UUID(text) if text else None


STAGE_FORMER = """
    DROP TABLE IF EXISTS pg_temp.former_{name};
    CREATE TEMP TABLE former_{name} ON COMMIT DROP AS
    SELECT c.id, coalesce(b.pgh_label <> 'delete', false) AS was_there, b.pgh_id AS event, {columns}
    FROM (
        SELECT DISTINCT e.pgh_obj_id AS id FROM {table} e
        WHERE e.project_id = %(project)s AND e.namespace_id = ANY (%(namespaces)s) AND e.pgh_created_at > %(at)s
        {also}) AS c
    LEFT JOIN LATERAL (
        SELECT p.* FROM {table} p
        WHERE p.project_id = %(project)s AND p.pgh_obj_id = c.id AND p.pgh_created_at <= %(at)s
        ORDER BY p.pgh_id DESC LIMIT 1) AS b ON true;
    CREATE UNIQUE INDEX ON former_{name} (id);
    ANALYZE former_{name}"""


def stage_former(
    model: type[models.Model],
    name: str,
    columns: Sequence[str],
    *,
    project_id: uuid.UUID,
    namespace_ids: Sequence[uuid.UUID],
    at: datetime.datetime,
    also: str = "",
) -> None:
    """Put how the rows of some namespaces that changed since then stood into a temporary table `former_<name>`.

    And of those whose ids the statement `also` answers. `was_there` says whether a row was. The table goes with the
    transaction.
    """
    listed = ", ".join(f'b."{column}"' for column in columns)
    statement = STAGE_FORMER.format(
        name=name, columns=listed, table=events_of(model)._meta.db_table, also=also and f"UNION {also}"
    )
    execute(statement, {"project": project_id, "namespaces": list(namespace_ids), "at": at})
