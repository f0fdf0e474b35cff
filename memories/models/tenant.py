"""What every row that belongs to a project has in common, and what each table says of itself."""

import datetime
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, Literal, Self

from django.db import models
from django.db.models import lookups

from memories.models.table_spec import TableSpec

FIRST, LAST = datetime.datetime.min.replace(tzinfo=datetime.UTC), datetime.datetime.max.replace(tzinfo=datetime.UTC)


class Xid8Field(models.BigIntegerField):  # type: ignore[type-arg]  # generic to the type checker only
    """A Postgres transaction id (64 bit). Comparable with `nova_horizon()`, so late commits are never missed."""

    def db_type(self, connection: Any) -> str:
        """Return the column type."""
        return "xid8"

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> int | None:
        """Postgres sends it as text."""
        return None if value is None else int(value)

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> str | None:
        """Postgres casts text to xid8, but no integer."""
        return None if value is None else str(value)


class Current(models.Func):
    """The id of the running transaction, as a column default."""

    template = "pg_current_xact_id()"
    output_field = Xid8Field()


class TenantQuerySet(models.QuerySet[Any]):
    """Queries name their project: row-level security guards, it does not route."""

    def within(self, project_id: uuid.UUID) -> Self:
        """Return the rows of one project."""
        return self.filter(project_id=project_id)


class TenantModel(models.Model):
    """A row of one project. Foreign keys to it are composite (project_id, id) and written in the migration."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(
        "memories.Project", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )

    objects = TenantQuerySet.as_manager()
    spec: ClassVar[TableSpec]

    class Meta:
        abstract = True

    @classmethod
    def made(cls, **columns: Any) -> Self:
        """Return a new row, given by its columns, as the class itself does in three times as long. Raise KeyError."""
        values, factories, places = _blank(cls)
        values = values.copy()
        for place, factory in factories:
            values[place] = factory()
        for name, value in columns.items():
            values[places[name]] = value
        return cls(*values)


@cache
def _blank(model: type[models.Model]) -> tuple[list[Any], list[tuple[int, Callable[[], Any]]], dict[str, int]]:
    """Return a new row's values, what makes those that no two rows share, and the columns' places among them."""
    fields = model._meta.concrete_fields
    values = [field.get_default() for field in fields]
    made = [(place, field.default) for place, field in enumerate(fields) if field.has_default()]
    factories = [(place, default) for place, default in made if callable(default)]
    return values, factories, {field.attname: place for place, field in enumerate(fields)}


def unique_in_project(name: str, *fields: str) -> models.UniqueConstraint:
    """Return a unique key that starts with the project."""
    return models.UniqueConstraint(fields=["project", *fields], name=name)


def one_of(name: str, field: str, words: type[models.TextChoices], *, blank: bool = False) -> models.CheckConstraint:
    """Return a CHECK that a column holds a word of a closed vocabulary."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{field}__in": [*words.values, *([""] if blank else [])]}), name=name
    )


def between(name: str, field: str, low: float, high: float) -> models.CheckConstraint:
    """Return a CHECK that a number lies in [low, high]; NaN is refused, since it compares above every number."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__gte": low, f"{field}__lte": high}), name=name)


def in_calendar(name: str, field: str) -> models.CheckConstraint:
    """Return a CHECK that a time lies in the years that Python has too: Postgres knows others, and infinity."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__gte": FIRST, f"{field}__lte": LAST}), name=name)


def json_of(name: str, field: str, kind: Literal["object", "array"]) -> models.CheckConstraint:
    """Return a CHECK that a column of JSON holds an object, or an array."""
    held = models.Func(models.F(field), function="jsonb_typeof", output_field=models.TextField())
    return models.CheckConstraint(condition=lookups.Exact(held, models.Value(kind)), name=name)


def parent(to: str, *, related_name: str = "+", null: bool = False) -> Any:
    """Return a reference to a tenant row; the migration adds the composite constraint."""
    return models.ForeignKey(
        to, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name=related_name, null=null
    )
