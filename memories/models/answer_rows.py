"""Answer rows: fragments with everything that an answer shows, by one statement whose plan the database keeps."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.base import ModelState

from memories.models.claim import Claim
from memories.models.fragment import Access, Fragment
from memories.models.namespace import Namespace
from memories.models.project import Project
from memories.models.sql import array_of, fetch, fetch_prepared

BESIDE = ("linked", "replaced", "waiting_for", "contested", "doubted")


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """Where a model's columns stand in a row, and how they are read."""

    model: type[Model]
    begin: int
    end: int
    names: Sequence[str]
    readers: Sequence[tuple[str, Callable[..., Any]]]

    @classmethod
    def of(cls, model: type[Model], begin: int) -> "ModelColumns":
        """Return a model's columns from a place on."""
        fields = model._meta.concrete_fields
        readers = [(field.attname, read) for field in fields for read in field.get_db_converters(connection)]
        return cls(model, begin, begin + len(fields), [field.attname for field in fields], readers)

    def worded(self, alias: str) -> str:
        """Return the columns of a table under its alias, in the order of the fields."""
        return ", ".join(f'{alias}."{field.column}"' for field in self.model._meta.concrete_fields)

    def instance(self, row: Sequence[Any]) -> Any:
        """Return what the row says as the ORM would, in half of the time: no `__init__` runs and no signal is sent."""
        values = dict(zip(self.names, row[self.begin : self.end], strict=True))
        for name, read in self.readers:
            values[name] = read(values[name], None, connection)
        made: Any = self.model.__new__(self.model)
        made.__dict__ |= values
        made._state = ModelState()
        made._state.adding, made._state.db = False, connection.alias
        return made


@cache
def _statement() -> tuple[str, list[ModelColumns]]:
    """Return the columns of each model in the order of its fields, whatever a newer schema has besides."""
    columns, models = list[str](), list[ModelColumns]()
    for name, model in {"fragment": Fragment, "project": Project, "namespace": Namespace, "access": Access}.items():
        models.append(ModelColumns.of(model, len(columns)))
        columns += [f'(r.{name})."{field.column}"' for field in model._meta.concrete_fields]
    return ", ".join([*columns, "r.claims", *(f"r.{name}" for name in BESIDE)]), models


def load_answer_rows(project_id: uuid.UUID, fragments: Sequence[uuid.UUID] | QuerySet[Any]) -> list[Any]:
    """Return the fragments of these ids, or of a query, that are there, in the same order.

    Each has `claims_made`, its claims in the order of the text, and what `nova_answer_rows` says that stands beside it.
    """
    values: tuple[Any, ...]
    if not isinstance(fragments, QuerySet) and not fragments:
        return []
    if isinstance(fragments, QuerySet):
        try:
            statement, values = fragments.values("id").query.sql_with_params()
        except EmptyResultSet:
            return []
        ids = f"ARRAY({statement})"
    else:
        ids, values = "%s::uuid[]", (array_of(fragments),)
    columns, models = _statement()
    ask = fetch if isinstance(fragments, QuerySet) else fetch_prepared
    rows = ask(f"SELECT {columns} FROM nova_answer_rows(%s, {ids}) AS r", [project_id, *values])
    shared: dict[uuid.UUID, Any] = {}
    return [_made(row, models, shared) for row in rows]


def _made(row: Sequence[Any], models: Sequence[ModelColumns], shared: dict[uuid.UUID, Any]) -> Any:
    """Return a fragment; what several belong to is made once."""
    fragments, projects, namespaces, accesses = models
    fragment = fragments.instance(row)
    related = fragment._state.fields_cache
    for name, columns in (("project", projects), ("namespace", namespaces)):
        which = row[columns.begin]
        if which not in shared:
            shared[which] = columns.instance(row)
        related[name] = shared[which]
    related["access"] = accesses.instance(row) if row[accesses.begin] else None
    claims, *beside = map(orjson.loads, row[accesses.end :])
    fragment.claims_made = [Claim.read(claim) for claim in claims]
    related["claim"] = next((claim for claim in fragment.claims_made if claim.position == 0), None)
    for name, value in zip(BESIDE, beside, strict=True):
        setattr(fragment, name, value)
    return fragment
