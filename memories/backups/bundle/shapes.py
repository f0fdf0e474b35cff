"""Shapes: which fields a record of each kind has, of which types and forms; neither more nor fewer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import models

from memories.backups.bundle import forms
from memories.backups.bundle.forms import FORMS
from memories.backups.bundle.records import LISTS
from memories.models.enums import CopyReason
from memories.models.table_spec import HOME, parts_of_copies, parts_of_records, specs
from memories.models.tenant import Xid8Field

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
    "decided_at",
    "repeated_at",
}
PAST |= {"last_accessed_at", "last_seen_at"}
ONE = ("accesses",)  # of a fragment
GENERATED = {"memories.Embedding": {"dim": int}}  # columns that only the database knows


# What JSON has for a column. Postgres would take a number for a text, and "NaN" for a number.
TYPES: tuple[tuple[Any, tuple[type, ...]], ...] = (
    (Xid8Field, (str,)),
    (models.BooleanField, (bool,)),
    (models.IntegerField, (int,)),
    (models.FloatField, (int, float)),
    (ArrayField, (list,)),
    (models.JSONField, (dict, list, type(None))),
    (models.GeneratedField, (str, type(None))),
)


@dataclass(frozen=True, slots=True)
class RecordRow:
    """The columns of a row: their types, lists of texts, times in the past and others, and what has a form.

    Those that came `later` may be missing.
    """

    columns: frozenset[str]
    later: frozenset[str]
    types: tuple[tuple[str, frozenset[type]], ...]
    lists: tuple[str, ...]
    past: tuple[str, ...]
    like: tuple[tuple[str, re.Pattern[str]], ...]
    forms: tuple[tuple[str, forms.Form], ...]

    @classmethod
    def of(cls, model: str, *more: str, without: Sequence[str] | None = None) -> "RecordRow":
        """Return those of a table that travel, and others, which are texts or null."""
        left = specs()[model].left_out if without is None else without
        return cls._fields_of(model, [f for f in _fields(model) if f.column not in left], more=more)

    @classmethod
    def copied(cls, model: str) -> "RecordRow":
        """Return all of a table, as copies hold them: where the row lived is null."""
        fields = [f for f in _fields(model) if f.column != "root_id"]
        return cls._fields_of(model, fields, homeless=HOME, generated=GENERATED.get(model, {}))

    @classmethod
    def _fields_of(
        cls,
        model: str,
        fields: list[Any],
        *,
        more: Sequence[str] = (),
        homeless: Sequence[str] = (),
        generated: Mapping[str, type] = MappingProxyType({}),
    ) -> "RecordRow":
        types: dict[str, frozenset[type]] = {f.column: _types(f) for f in fields}
        types |= {name: frozenset({kind}) for name, kind in generated.items()}
        types |= {name: frozenset({str, type(None)}) for name in more}
        types |= {name: frozenset({type(None)}) for name in types.keys() & set(homeless)}
        times = set(_columns(fields, models.DateTimeField))
        like = dict.fromkeys(times - PAST, forms.TIME)
        like |= dict.fromkeys(set(_columns(fields, models.DateField)) - times, forms.DATE)
        like |= dict.fromkeys(_columns(fields, models.BinaryField), forms.BYTES)
        return cls(
            frozenset(types),
            frozenset(specs()[model].later),
            tuple(types.items()),
            tuple(_columns(fields, ArrayField)),
            tuple(sorted(times & PAST)),
            tuple(sorted(like.items())),
            tuple((column, FORMS[model, column]) for column in _columns(fields, models.JSONField)),
        )

    def fault(self, record: Any, *, latest: str) -> str:
        """Return what is wrong with it, empty when nothing is."""
        if type(record) is not dict:
            return "a row is no object"
        if differing := (record.keys() ^ self.columns) - (self.later - record.keys()):
            return f"fields are missing or unknown: {', '.join(sorted(differing))[:200]}"
        for name, types in self.types:
            if name in record and type(record[name]) not in types:
                return f"{name} is of another type"
        return self._fault_of_values(record, latest=latest)

    def _fault_of_values(self, record: Mapping[str, Any], *, latest: str) -> str:
        for name in self.lists:
            if any(type(each) is not str for each in record[name]):
                return f"{name} is no list of texts"
        for name in self.past:
            at = record.get(name)
            if at is not None and (not forms.TIME.fullmatch(at) or not EPOCH < at <= latest):
                return f"{name} is no time between 1970 and now"
        for name, pattern in self.like:
            if record[name] is not None and not pattern.fullmatch(record[name]):
                return f"{name} is not written as it should be"
        return next((f"{name} is not what stands there" for name, form in self.forms if not form(record[name])), "")


EPOCH = "1970-01-01T00:00:00+00:00"


def _fields(model: str) -> list[Any]:
    return [field for field in apps.get_model(model)._meta.concrete_fields if field.column]


def _columns(fields: list[Any], kind: Any) -> list[str]:
    return [str(field.column) for field in fields if isinstance(field, kind)]


def _types(field: Any) -> frozenset[type]:
    found = next((types for kind, types in TYPES if isinstance(field, kind)), (str,))
    return frozenset({*found, *([type(None)] if field.null else [])})


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind: its own fields beside `kind`, its row, its order and key, the models of its lists and objects."""

    fields: frozenset[str]
    row: RecordRow
    order: str
    lists: Mapping[str, RecordRow]
    single: Mapping[str, RecordRow]
    key: str = "id"
    optional: frozenset[str] = frozenset()
    copied: Mapping[str, RecordRow] = field(default_factory=dict)

    def fault(self, record: Mapping[str, Any], *, latest: str) -> str:
        """Return what is wrong with a record, empty when nothing is."""
        keys = record.keys()
        if keys != self.fields and keys - self.optional != self.fields:
            return f"fields are missing or unknown: {', '.join(sorted(keys ^ self.fields))[:200]}"
        if found := self.row.fault(record["row"], latest=latest):
            return found
        for name, row in self.single.items():
            if record[name] is not None and (found := row.fault(record[name], latest=latest)):
                return f"{name}: {found}"
        for name, row in self.lists.items():
            if record.get(name) is not None and (found := _fault_of_all(record[name], row, latest=latest)):
                return f"{name}: {found}"
        return self._fault_of_copy(record, latest=latest) if self.copied else ""

    def _fault_of_copy(self, record: Mapping[str, Any], *, latest: str) -> str:
        copy, row = record["copy"], record["row"]
        if row["reason"] == CopyReason.COMPACTED:
            return "" if forms.SHORTENED(copy) else "this is no copy of a text that was shortened"
        if type(copy) is not dict or not self.copied.keys() <= copy.keys():
            return "this is no copy of a fragment"
        if not forms.NAMING({name: value for name, value in copy.items() if name not in self.copied}):
            return "this is no copy of a fragment"
        for name, shape in self.copied.items():
            rows = [copy[name]] if name == "fragment" else copy[name]
            if rows is None:
                continue
            if found := _fault_of_all(rows, shape, latest=latest):
                return f"copy: {name}: {found}"
            ends = ("id",) if name == "fragment" else ("fragment_id", "other_id")
            if any(row["fragment_id"] not in [each.get(end) for end in ends] for each in rows):
                return f"copy: {name}: this is another fragment's"
            if name in ONE and len(rows) > 1:
                return f"copy: {name}: there is one at most"
        return ""


def _fault_of_all(record: Any, row: RecordRow, *, latest: str) -> str:
    if type(record) is not list or not record:
        return "this is no list of rows"
    return next((found for each in record if (found := row.fault(each, latest=latest))), "")


def _shape(model: str, order: str, *fields: str, row: RecordRow | None = None, **more: Any) -> Shape:
    lists, single = more.pop("lists", {}), more.pop("single", {})
    whole = frozenset({"kind", "row", *fields, *lists, *single}) - more.get("optional", frozenset())
    return Shape(whole, row or RecordRow.of(model), order, lists, single, **more)


def shapes() -> dict[str, Shape]:
    """Return by kind. Not at import: models have to be loaded."""
    members = RecordRow.of("memories.EpisodeMember", without=("project_id", "episode_id"))
    copied = {
        name: RecordRow.copied(model) for name, model in {"fragment": "memories.Fragment", **parts_of_copies()}.items()
    }
    return {
        "owner": _shape("memories.Owner", "created_at"),
        "namespace": _shape("memories.Namespace", "created_at", row=RecordRow.of("memories.Namespace", "forked_from")),
        "user": _shape("memories.Namespace", "created_at", row=RecordRow.of("memories.Namespace", "forked_from")),
        "predicate": _shape("conflicts.Predicate", "created_at", "namespace"),
        "erasure": _shape("memories.Erasure", "erased_at", optional=frozenset({"scope"})),
        "fragment": _shape(
            *("memories.Fragment", "created_at", "namespace"),
            single={"claim": RecordRow.of("memories.Claim"), "access": RecordRow.of("memories.Access")},
            lists={
                "claims": RecordRow.of("memories.Claim"),
                **{name: RecordRow.of(parts_of_records()[name]) for name in LISTS},
            },
            optional=frozenset({"claims", "vectors"}),
        ),
        "origin": _shape("memories.Origin", "fragment_id", "namespace", key="fragment_id"),
        "episode": _shape("memories.Episode", "began_at", "namespace", lists={"members": members}),
        "conflict": _shape("conflicts.PendingConflict", "created_at", "namespace"),
        "ruling": _shape("conflicts.Ruling", "decided_at", "namespace"),
        "tombstone": _shape("memories.Tombstone", "evicted_at", "namespace"),
        "archive": _shape("memories.Archive", "archived_at", "namespace", "copy", copied=copied),
    }
