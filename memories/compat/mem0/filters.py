"""mem0's filter language: fields and operators, joined by AND, OR and NOT, as conditions on memories.

Grammar: https://docs.mem0.ai/platform/features/v2-memory-filters. A filter is read into a tree of `Q`s whose leaves are
(`field__operator`, value), and worded for the rows of a project later. Unlike there, an entity that is not named is not
taken for null.
"""

import datetime
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import BooleanField, F, Func, Q
from rest_framework import serializers

from memories.models import Namespace
from memories.rest.fields import Id, Text, UserField
from memories.rest.inputs import Extra

USER = "user:"  # the tag of a user from before users had scopes
ANY = "*"
ENTITIES = ("user_id", "agent_id", "app_id", "run_id")
JOINS = ("AND", "OR", "NOT")
DEEPEST, MOST_CONDITIONS, MOST_VALUES = 8, 100, 1000
TICK = datetime.timedelta(microseconds=1)
# Whether a tag names a user.
TAGGED = Func(
    F("tags"),
    template=f"EXISTS (SELECT FROM unnest(%(expressions)s) AS t (tag) WHERE starts_with(t.tag, '{USER}'))",
    output_field=BooleanField(),
)


@dataclass(frozen=True, slots=True)
class TimesMeant:
    """The times that a value stands for, without the end: a whole day, or the one moment that Postgres can tell."""

    start: datetime.datetime
    end: datetime.datetime


class Instant(serializers.Field[Any, Any, Any, Any]):
    """A day or a time in ISO 8601, UTC unless it has an offset, or a Unix time in seconds."""

    default_error_messages = {"invalid": "Give a date or a time in ISO 8601, or a Unix time in seconds."}

    def to_internal_value(self, data: Any) -> TimesMeant:
        """Return the times that it stands for. Raise ValidationError."""
        try:
            if isinstance(data, int | float) and not isinstance(data, bool):
                start = datetime.datetime.fromtimestamp(data, datetime.UTC)
                return TimesMeant(start, start + TICK)
            if day := _day(data):
                start = datetime.datetime.combine(day, datetime.time.min, datetime.UTC)
                return TimesMeant(start, start + datetime.timedelta(days=1))
            start = datetime.datetime.fromisoformat(data)
            start = start.astimezone(datetime.UTC) if start.tzinfo else start.replace(tzinfo=datetime.UTC)
            return TimesMeant(start, start + TICK)
        except (TypeError, ValueError, OverflowError, OSError):
            self.fail("invalid")


def _day(text: str) -> datetime.date | None:
    """Return the day of a text that is only that. Raise TypeError for what is no text."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


EXACT, TIMES = ("eq", "ne", "in"), ("eq", "ne", "gt", "gte", "lt", "lte")


@dataclass(frozen=True, slots=True)
class Operand:
    """A field that conditions are about: how its values are read, its operators, and its column, if it is one's own."""

    reader: serializers.Field[Any, Any, Any, Any]
    operators: tuple[str, ...]
    column: str = ""
    may_be_any: bool = False


FIELDS = {
    "user_id": Operand(UserField(), EXACT, may_be_any=True),
    "agent_id": Operand(Text(max_length=63), EXACT, "agent_id", may_be_any=True),
    "app_id": Operand(Text(max_length=255), EXACT, "workflow_id", may_be_any=True),
    "run_id": Operand(Text(max_length=255), EXACT, "conversation_id", may_be_any=True),
    "categories": Operand(Text(max_length=100), (*EXACT, "contains", "icontains"), "category", may_be_any=True),
    "keywords": Operand(Text(max_length=1000, trim_whitespace=False), ("contains", "icontains"), "content"),
    "metadata": Operand(Extra(), ("eq", "ne", "contains")),
    "memory_ids": Operand(Id(), ("in",), "id"),
    "created_at": Operand(Instant(), TIMES, "created_at"),
    "updated_at": Operand(Instant(), TIMES, "updated_at"),
    "timestamp": Operand(Instant(), TIMES),
}


class Conditions(serializers.JSONField):
    """A filter, as a tree of conditions."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the tree, a `Q`. Raise ValidationError that names the field."""
        tree = _read(data, depth=0, alone=True)
        values = [len(value) if isinstance(value, list) else 1 for _, value in leaves(tree)]
        if len(values) > MOST_CONDITIONS or sum(values) > MOST_VALUES:
            raise serializers.ValidationError(f"Give at most {MOST_CONDITIONS} conditions and {MOST_VALUES} values.")
        return tree


@dataclass(frozen=True, slots=True)
class AskedMemories:
    """Which memories are asked for: of one user, ANY or of none in particular, of these entities; `others` besides."""

    user: str | None = None
    entities: Mapping[str, str] = field(default_factory=dict)
    others: Q = field(default_factory=Q)

    def rows(self, project_id: uuid.UUID) -> Q:
        """Return the other conditions, on rows of fragments."""
        return _on_rows(self.others, project_id)


def asked(tree: Q, named: Mapping[str, str]) -> AskedMemories:
    """Return what a filter and the entities `named` beside it ask for. Raise ValidationError where these differ."""
    beside = Q(*(_clauses(name, value) for name, value in named.items()))
    equal: dict[str, str] = {}
    others = []
    for part in [*_conjuncts(beside), *_conjuncts(tree)]:
        name = "" if isinstance(part, Q) else part[0].removesuffix("__eq")
        if name not in ENTITIES:
            others.append(part)
        elif equal.setdefault(name, part[1]) != part[1]:
            raise serializers.ValidationError({name: ["Two values of one entity fit no memory."]})
    rest = Q(*others)
    anybody = ANY if any(name.startswith("user_id__") for name, _ in leaves(rest)) else None
    return AskedMemories(equal.pop("user_id", anybody), equal, rest)


def leaves(tree: Q) -> Iterator[tuple[str, Any]]:
    """Return the conditions of a tree."""
    for child in children(tree):
        yield from leaves(child) if isinstance(child, Q) else [child]


def children(tree: Q) -> list[Any]:
    """Return what a tree joins: (`field__operator`, value) and trees."""
    return list(tree.children)


def _conjuncts(tree: Q) -> Iterator[Any]:
    """Return what all has to hold: conditions, and trees that are no mere AND."""
    for child in children(tree):
        joined = isinstance(child, Q) and not child.negated and (child.connector == Q.AND or len(children(child)) == 1)
        yield from _conjuncts(child) if joined else [child]


def _read(data: Any, *, depth: int, alone: bool) -> Q:
    """Return the tree of an object; `alone` while all has to hold, where null says nothing of a field."""
    if not isinstance(data, dict):
        raise serializers.ValidationError("Give an object of conditions, or AND, OR or NOT with a list of them.")
    parts = []
    for name, value in data.items():
        if name in JOINS:
            parts.append(_joined(name, value, depth=depth + 1, alone=alone and name == "AND"))
        elif name not in FIELDS:
            raise serializers.ValidationError({name: ["This field is not known."]})
        elif value is not None or not alone:
            parts.append(_clauses(name, value))
    if not parts and not alone:
        raise serializers.ValidationError("Give a condition.")
    return Q(*parts)


def _joined(name: str, value: Any, *, depth: int, alone: bool) -> Q:
    """Return a list of conditions, or one: all of them, any, or none of them."""
    within = value if isinstance(value, list) else [value]
    if not within or depth > DEEPEST:
        raise serializers.ValidationError({name: [f"Give a condition or a list of them, at most {DEEPEST} deep."]})
    joined = Q(*(_read(one, depth=depth, alone=alone) for one in within), _connector=Q.AND if name == "AND" else Q.OR)
    return ~joined if name == "NOT" else joined


def _clauses(name: str, value: Any) -> Q:
    """Return the conditions on one field. Raise ValidationError that names it."""
    operand = FIELDS[name]
    if value == ANY and operand.may_be_any:
        return Q((f"{name}__any", True))
    clauses = _operations(name, value)
    if unknown := sorted(set(clauses) - set(operand.operators)):
        told = f"{', '.join(unknown)} is no operator here: use {', '.join(operand.operators)}."
        raise serializers.ValidationError({name: [told]})
    try:
        values = {operator: _value(name, operator, one) for operator, one in clauses.items()}
    except serializers.ValidationError as error:
        raise serializers.ValidationError({name: error.detail}) from error
    return Q(*((f"{name}__{operator}", one) for operator, one in values.items()))


def _operations(name: str, value: Any) -> dict[str, Any]:
    """Return the values by operator; an object that is metadata itself is equal, a list of ids among."""
    if name == "metadata":
        worded = isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values())
        return value if worded and set(value) <= set(FIELDS[name].operators) else {"eq": value}
    if isinstance(value, dict) and value:
        return value
    return {"in" if name == "memory_ids" else "eq": value}


def _value(name: str, operator: str, value: Any) -> Any:
    reader = FIELDS[name].reader
    if operator != "in":
        return reader.run_validation(value)
    if not isinstance(value, list) or not 0 < len(value) <= MOST_VALUES:
        raise serializers.ValidationError([f"Give a list of 1 to {MOST_VALUES} values."])
    return [reader.run_validation(one) for one in value]


def _on_rows(tree: Q, project_id: uuid.UUID) -> Q:
    parts = [
        _on_rows(child, project_id) if isinstance(child, Q) else _condition(*child, project_id=project_id)
        for child in children(tree)
    ]
    return Q(*parts, _connector=tree.connector, _negated=tree.negated)


def _condition(leaf: str, value: Any, *, project_id: uuid.UUID) -> Q:
    """Return a leaf as a condition on rows; `ne` is true of what has no value, too."""
    name, _, operator = leaf.rpartition("__")
    if operator == "ne":
        return ~_condition(f"{name}__eq", value, project_id=project_id)
    if name == "user_id":
        return _of_users(operator, value, project_id=project_id)
    if name == "metadata":
        return Q(extra__contains=value)
    if name == "timestamp":
        created = Q(event_at__isnull=True) & _at("created_at", operator, value)
        return _at("event_at", operator, value) | created
    column = FIELDS[name].column
    if isinstance(value, TimesMeant):
        return _at(column, operator, value)
    if operator == "any":
        return ~Q((column, ""))
    return Q((column if operator == "eq" else f"{column}__{operator}", value))


def _at(column: str, operator: str, span: TimesMeant) -> Q:
    since, until = f"{column}__gte", f"{column}__lt"
    one: dict[str, Q] = {
        "eq": Q((since, span.start), (until, span.end)),
        "gt": Q((since, span.end)),
        "gte": Q((since, span.start)),
        "lt": Q((until, span.start)),
        "lte": Q((until, span.end)),
    }
    return one[operator]


def _of_users(operator: str, value: Any, *, project_id: uuid.UUID) -> Q:
    """Return a condition on whose memory it is; those of users from before scopes lie in the namespace with a tag."""
    scopes = Namespace.objects.within(project_id).order_by()
    in_root = Q(namespace__in=scopes.filter(parent=None).values("id"))
    if operator == "any":
        return ~in_root | Q(TAGGED)
    users = value if operator == "in" else [value]
    tagged = in_root & Q(tags__overlap=[USER + user for user in users])
    return Q(namespace__in=scopes.filter(user__in=users).values("id")) | tagged


def not_of_others(user: str, project_id: uuid.UUID) -> Q:
    """Return the condition that no tag from before scopes gives a memory to another user alone."""
    return ~Q(TAGGED) | _of_users("eq", user, project_id=project_id)
