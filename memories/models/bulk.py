"""Many rows at once: multi-row VALUES for a few, COPY for many.

COPY straight into a table with row-level security is refused by Postgres, hence the temporary table.
"""

import json
import re
from collections.abc import Callable, Sequence
from itertools import count
from operator import attrgetter
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from pgvector import HalfVector
from pgvector.django import HalfVectorField
from psycopg import sql

from memories.models.sql import array_of, copying, execute, execute_prepared

COPY_FROM = 50  # below, creating the temporary table costs more than it saves
AS_IT_IS = (
    models.CharField,
    models.TextField,
    models.BooleanField,
    models.FloatField,
    models.IntegerField,
    models.UUIDField,
    models.DateTimeField,
    models.BinaryField,
    models.ForeignKey,
)
LENGTH = re.compile(r"\(\d+\)")
_numbers = count()


def insert(rows: Sequence[models.Model]) -> None:
    """Insert rows of one model. Needs an open transaction for COPY's temporary table."""
    if not rows:
        return
    if len(rows) >= COPY_FROM:
        _copy(type(rows[0]), rows)
    else:
        (execute if len(rows) > 1 else execute_prepared)(*insert_statement(rows))
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias


def insert_statement(rows: Sequence[models.Model]) -> tuple[str, list[Any]]:
    """Return the statement that inserts a few rows of one model, and its values, to stand inside a larger one."""
    fields = stored_fields(type(rows[0]))
    columns = ", ".join(f'"{field.column}"' for field in fields)
    places = ", ".join([f"({', '.join(['%s'] * len(fields))})"] * len(rows))
    readers = [_worded(field) for field in fields]
    values = [read(row) for row in rows for read in readers]
    return f'INSERT INTO "{type(rows[0])._meta.db_table}" ({columns}) VALUES {places}', values


def stored_fields(model: type[models.Model]) -> list[Any]:
    """Return the fields of which a new row gives the values: neither generated nor what only the database knows."""

    def is_given(field: Any) -> bool:
        return field.has_default() or field.db_default is models.NOT_PROVIDED

    return [f for f in model._meta.concrete_fields if f.column and not f.generated and is_given(f)]


def _copy(model: type[models.Model], rows: Sequence[models.Model]) -> None:
    """Copy the columns in which rows differ; a value that all have alike is sent once."""
    given, alike, copied = [], [], []
    for field in stored_fields(model):
        values = list(map(_reader(field), rows))
        if _is_comparable(field) and values.count(values[0]) == len(values):
            given.append(field)
            alike.append(values[0])
        else:
            copied.append((field, values))
    columns = sql.SQL(", ").join([sql.Identifier(str(f.column)) for f, _ in copied])
    table, staging = sql.Identifier(model._meta.db_table), sql.Identifier(f"staging_{next(_numbers)}")
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
                staging, columns, table
            )
        )
        # Numbers of vectors as texts take longer than all the rest of their rows.
        binary = any(isinstance(f, HalfVectorField) for f, _ in copied)
        form = sql.SQL("(FORMAT binary)" if binary else "")
        with copying(sql.SQL("COPY {} ({}) FROM STDIN {}").format(staging, columns, form)) as copy:
            if binary:
                copy.set_types([_type(f) for f, _ in copied])
            for row in zip(*(values for _, values in copied), strict=True):
                copy.write_row(row)
        names = sql.SQL("").join([sql.SQL(", {}").format(sql.Identifier(str(f.column))) for f in given])
        alike_as = sql.SQL("".join(f", %s::{_type(f)}" for f in given))
        cursor.execute(
            sql.SQL("INSERT INTO {} ({}{}) SELECT {}{} FROM {}").format(
                table, columns, names, columns, alike_as, staging
            ),
            alike,
        )
        cursor.execute(sql.SQL("DROP TABLE {}").format(staging))


def _worded(field: Any) -> Callable[[models.Model], Any]:
    """Return what gives a column's value as a statement's parameter."""
    if isinstance(field, HalfVectorField):
        return lambda row: field.get_db_prep_save(getattr(row, field.attname), connection)
    return _reader(field)


def half(vector: Any) -> HalfVector:
    """Return a vector in half precision, as it is computed or as it was read."""
    return vector if isinstance(vector, HalfVector) else HalfVector(vector)


def _type(field: Any) -> str:
    """Return as what a value is given. No length: a cast would cut the text. A vector is bytes already."""
    return "bytea" if isinstance(field, HalfVectorField) else LENGTH.sub("", str(field.db_type(connection)))


def _is_comparable(field: Any) -> bool:
    """Return whether a statement takes the column's value as COPY does, and equal values are the same; not so −0.0."""
    return (
        (isinstance(field, AS_IT_IS) and not isinstance(field, models.FloatField)) or _is_list(field) or _is_json(field)
    )


def _is_list(field: Any) -> bool:
    return isinstance(field, ArrayField) and isinstance(field.base_field, AS_IT_IS)


def _is_json(field: Any) -> bool:
    return isinstance(field, models.JSONField) and field.encoder is None


def _reader(field: Any) -> Callable[[models.Model], Any]:
    """Return what gives a column's value: as psycopg takes it or as text, where possible without Django's preparation.

    Lists and JSON are ready as texts sooner than either prepares them, vectors as bytes.
    """
    attribute = attrgetter(field.attname)
    if isinstance(field, AS_IT_IS):
        return attribute
    if _is_list(field):
        return lambda row: None if (value := attribute(row)) is None else array_of(value)
    if _is_json(field):
        return lambda row: None if (value := attribute(row)) is None else json.dumps(value)
    if isinstance(field, HalfVectorField):
        return lambda row: half(attribute(row)).to_binary()
    return lambda row: field.get_db_prep_save(field.pre_save(row, add=True), connection)
