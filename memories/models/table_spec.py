"""What each tenant table says of itself, as data that export, staging, restore, forks, archive copies and undo walk.

A table without a spec does not start (`specs`); one that is declared joins all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import models

Kind = Literal["canonical", "derived", "operational"]
Erase = Literal["cascade", "swept", "kept"]
Fork = Literal["copied", "made anew", "shared", "not copied"]
# What name a project and belong to the installation.
GLOBAL = frozenset({"memories.Membership"})
# Columns that say where a row lives.
HOME = ("project_id", "namespace_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSpec:
    """How backups, forgetting, forks, archive copies, undo and rebuilds treat a table.

    `record`: the kind of record in a bundle that holds its rows. `inside`: the part of another record that does.
    `archived`: the part of the copy that is kept of a fragment that left. `belongs_to`: columns that name the fragments
    without which a row is nothing. `made`: columns that triggers set or the database generates. `local`: columns that
    say something of this instance alone and travel in no bundle. `later`: columns that older bundles lack, and what
    these rows mean. `erase`: what becomes of rows when their fragment is forgotten: deleted by the database, by the
    code that forgets, or kept because they hold no text of it. `rebuild`: what makes a derived table anew.
    """

    kind: Kind
    record: str = ""
    inside: str = ""
    archived: str = ""
    belongs_to: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    local: tuple[str, ...] = ()
    later: Mapping[str, Any] = field(default_factory=dict)
    erase: Erase
    fork: Fork = "not copied"
    rebuild: str = ""

    @property
    def travels(self) -> bool:
        """Whether bundles hold its rows."""
        return bool(self.record or self.inside)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return the columns that travel in no bundle."""
        return (*self.local, *self.made)


@cache
def specs() -> Mapping[str, TableSpec]:
    """Return the spec of every tenant table by its model's label. Raise ImproperlyConfigured for one that has none."""
    found = {}
    for model in apps.get_models():
        label, spec = model._meta.label, getattr(model, "spec", None)
        if isinstance(spec, TableSpec):
            found[label] = spec
        elif (
            label.startswith(("memories.", "conflicts.")) and "project_id" in columns_of(model) and label not in GLOBAL
        ):
            raise ImproperlyConfigured(f"{label} has no TableSpec")
    return found


def columns_of(model: type[models.Model]) -> list[str]:
    """Return the names of a table's columns."""
    return [str(f.column) for f in model._meta.concrete_fields if f.column]


def table_of(label: str) -> str:
    """Return the name of a model's table."""
    return str(apps.get_model(label)._meta.db_table)


def records() -> dict[str, str]:
    """Return the models whose rows have records of their own, by these records' kind."""
    return {spec.record: label for label, spec in specs().items() if spec.record}


def parts_of_records() -> dict[str, str]:
    """Return the models whose rows stand inside a fragment's record, which names it for them, by their part in it."""
    return {spec.inside: label for label, spec in specs().items() if spec.inside and "fragment_id" in spec.local}


def parts_of_copies() -> dict[str, str]:
    """Return the models whose rows stand in the copy of a fragment that left, by their part in it."""
    return {spec.archived: label for label, spec in specs().items() if spec.archived}


@cache
def made_columns() -> frozenset[str]:
    """Return the columns that triggers set or the database generates, of all tables: no two mean different things."""
    return frozenset(column for spec in specs().values() for column in spec.made)
