"""Shapes: which fields a record of each kind has, and which of its times lie in the past; neither more nor fewer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models

from memories.backups.records import LEFT_OUT, UNDER

DEPTH = 100
PAST = {
    "created_at",
    "updated_at",
    "erased_at",
    "evicted_at",
    "archived_at",
    "recorded_at",
    "labelled_at",
    "resolved_at",
}
PAST |= {"last_accessed_at", "last_seen_at"}


@dataclass(frozen=True, slots=True)
class Row:
    """The columns of a row, and those among them that are times in the past, or texts."""

    columns: frozenset[str]
    past: tuple[str, ...]
    # Postgres would take a number for a text.
    texts: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: str, *more: str) -> "Row":
        """Those of a table that travel, and others."""
        fields = apps.get_model(model)._meta.concrete_fields
        columns = {str(field.column) for field in fields if field.column} - set(LEFT_OUT[model]) | set(more)
        texts = {str(field.column) for field in fields if isinstance(field, models.CharField | models.TextField)}
        lists = {str(field.column) for field in fields if isinstance(field, ArrayField)}
        return cls(
            frozenset(columns),
            tuple(sorted(columns & PAST)),
            tuple(sorted(columns & texts)),
            tuple(sorted(columns & lists)),
        )

    def fault(self, told: Any, *, latest: str) -> str:
        """What is wrong with it, empty when nothing is."""
        if type(told) is not dict:
            return "a row is no object"
        if told.keys() != self.columns:
            return f"fields are missing or unknown: {', '.join(sorted(told.keys() ^ self.columns))[:200]}"
        for name in self.texts:
            if type(told[name]) is not str:
                return f"{name} is no text"
        for name in self.lists:
            if type(told[name]) is not list or any(type(each) is not str for each in told[name]):
                return f"{name} is no list of texts"
        for name in self.past:
            at = told[name]
            if at is not None and (type(at) is not str or not TIME.fullmatch(at) or not EPOCH < at <= latest):
                return f"{name} is no time between 1970 and now"
        return ""


# As Postgres writes times; in this form the order of texts is that of times.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00", re.ASCII)
EPOCH = "1970-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind: its own fields beside `kind`, its row, the column of its order, the models of its lists and objects."""

    fields: frozenset[str]
    row: Row
    order: str
    lists: Mapping[str, Row]
    single: Mapping[str, Row]
    optional: frozenset[str] = frozenset()

    def fault(self, told: Mapping[str, Any], *, latest: str) -> str:
        """What is wrong with a record, empty when nothing is."""
        keys = told.keys()
        if keys != self.fields and keys - self.optional != self.fields:
            return f"fields are missing or unknown: {', '.join(sorted(keys ^ self.fields))[:200]}"
        if found := self.row.fault(told["row"], latest=latest):
            return found
        for name, row in self.single.items():
            if told[name] is not None and (found := row.fault(told[name], latest=latest)):
                return f"{name}: {found}"
        for name, row in self.lists.items():
            if told[name] is not None and (found := _fault_of_all(told[name], row, latest=latest)):
                return f"{name}: {found}"
        return ""


def _fault_of_all(told: Any, row: Row, *, latest: str) -> str:
    if type(told) is not list or not told:
        return "this is no list of rows"
    return next((found for each in told if (found := row.fault(each, latest=latest))), "")


def _shape(model: str, order: str, *fields: str, row: Row | None = None, **more: Any) -> Shape:
    lists, single = more.pop("lists", {}), more.pop("single", {})
    whole = frozenset({"kind", "row", *fields, *lists, *single})
    return Shape(whole, row or Row.of(model), order, lists, single, **more)


def shapes() -> dict[str, Shape]:
    """By kind. Not at import: models have to be loaded."""
    members = Row(frozenset({"fragment_id", "position"}), ())
    return {
        "owner": _shape("memories.Owner", "created_at"),
        "namespace": _shape("memories.Namespace", "created_at", row=Row.of("memories.Namespace", "forked_from")),
        "predicate": _shape("conflicts.Predicate", "created_at", "namespace"),
        "erasure": _shape("memories.Erasure", "erased_at"),
        "fragment": _shape(
            *("memories.Fragment", "created_at", "namespace"),
            single={"claim": Row.of("memories.Claim"), "access": Row.of("memories.Access")},
            lists={name: Row.of(model) for name, (model, _, _) in UNDER.items()},
            optional=frozenset({"vectors"}),
        ),
        "episode": _shape("memories.Episode", "began_at", "namespace", lists={"members": members}),
        "conflict": _shape("conflicts.PendingConflict", "created_at", "namespace"),
        "tombstone": _shape("memories.Tombstone", "evicted_at", "namespace"),
        "archive": _shape("memories.Archive", "archived_at", "namespace", "copy"),
    }
