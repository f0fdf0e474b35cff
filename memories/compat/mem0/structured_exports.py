"""Exports in the shape of a JSON schema: its properties are filled with what is believed of the user, and nothing else.

mem0 lets a model write them. Here a property takes the values of the predicate of its name, in any spelling that the
registry knows; one that nothing is known of takes its default, and `memories` the memories themselves.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from django.core import signing
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers

from conflicts.history import BeliefQuery, believed_claims, claims
from conflicts.keys import USER
from memories.access import Principal
from memories.compat.mem0.selection import memory_answer

SALT = "mem0-export"
MOST = 1000  # memories, and values of one property
MEMORIES = "memories"
DEEPEST, MOST_SHAPES = 6, 1000
TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def ticket(request: Mapping[str, Any]) -> str:
    """Return an id that holds what is asked for, so that nothing of it has to be kept."""
    return signing.dumps(dict(request), salt=SALT, compress=True)


def request_of(one: str) -> dict[str, Any]:
    """Return what a ticket asks for. Raise ValidationError for what is none."""
    try:
        request: dict[str, Any] = signing.loads(one, salt=SALT)
    except signing.BadSignature as error:
        raise serializers.ValidationError({"memory_export_id": ["This is no id of an export."]}) from error
    return request


def export(
    principal: Principal, namespace: str, rows: QuerySet[Any], schema: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the memories in the shape of a schema, as they are without one; to be read inside `access.enter`."""
    if schema is None:
        return {MEMORIES: [memory_answer(row) for row in rows[:MOST]]}
    return _Writer(principal, namespace, rows, schema.get("$defs", {})).filled(schema)


class _Writer:
    """Fills schemas with what memories claim of the user."""

    def __init__(self, principal: Principal, namespace: str, rows: QuerySet[Any], defs: Any) -> None:
        self.principal, self.namespace, self.rows = principal, namespace, rows
        self.defs = defs if isinstance(defs, dict) else {}
        self.shapes_left = MOST_SHAPES
        self.known: dict[str, list[str]] = {}

    def filled(self, schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
        """Return an object of the schema's properties."""
        properties = schema.get("properties")
        named = properties.items() if isinstance(properties, dict) and depth < DEEPEST else ()
        return {name: self.value(name, shape, depth) for name, shape in named if isinstance(shape, dict)}

    def value(self, name: str, shape: Mapping[str, Any], depth: int) -> Any:
        """Return what is known for a property: of a list all, else the newest that has its shape."""
        shapes = list(self.shapes(shape))
        for one in shapes:
            if one.get("type") == "object":
                return self.filled(one, depth + 1)
            if one.get("type") == "array":
                return self.values(name, one.get("items"))
        fitting = (fitted for said in self.said(name) for one in shapes for fitted in _fitted(said, one))
        return next(fitting, shape.get("default"))

    def values(self, name: str, items: Any) -> list[Any]:
        """Return all that is known for a property, each once."""
        shapes = list(self.shapes(items)) if isinstance(items, dict) else [{"type": "string"}]
        if name == MEMORIES:
            whole = any(one.get("type") == "object" for one in shapes)
            return [memory_answer(row) if whole else row.shown for row in self.rows[:MOST]]
        found = [fitted for said in self.said(name) for one in shapes for fitted in list(_fitted(said, one))[:1]]
        return list(dict.fromkeys(found))

    def shapes(self, shape: Mapping[str, Any], depth: int = 0) -> Iterator[Mapping[str, Any]]:
        """Return the alternatives of a schema, those that are defined elsewhere in it looked up.

        Raise ValidationError for too many: definitions may lead to each other.
        """
        if depth == DEEPEST:
            return
        self.shapes_left -= 1
        if self.shapes_left < 0:
            raise serializers.ValidationError({"schema": [f"This leads to over {MOST_SHAPES} properties."]})
        if "$ref" in shape:
            shape = self.defs.get(str(shape["$ref"]).rpartition("/")[2], {})
        for one in [*shape.get("anyOf", []), *shape.get("oneOf", []), *shape.get("allOf", [])]:
            if isinstance(one, dict):
                yield from self.shapes(one, depth + 1)
        if "enum" in shape:
            yield shape
        elif "type" in shape:
            kinds = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
            yield from ({**shape, "type": kind} for kind in kinds)

    def said(self, name: str) -> list[str]:
        """Return the values believed of the user under a predicate, newest first."""
        if name not in self.known:
            question = BeliefQuery(self.namespace, USER, name)
            found = claims(self.principal, question, now=timezone.now())
            found = found.filter(id__in=self.rows.order_by().values("id")).order_by("-created_at", "-id")
            self.known[name] = [one.value for one in believed_claims(self.principal, list(found[:MOST]))]
        return self.known[name]


def _fitted(said: str, shape: Mapping[str, Any]) -> Iterator[Any]:
    """Return a value as a schema of no list and no object has it; nothing when it doesn't fit."""
    if "enum" in shape:
        plain = (one for one in shape["enum"] if isinstance(one, str | int | float))
        yield from (one for one in plain if _folded(str(one)) == _folded(said))
    elif shape.get("type") == "string":
        if shape.get("minLength", 0) <= len(said) <= shape.get("maxLength", len(said)):
            yield said
    elif shape.get("type") == "boolean":
        yield from [TRUTH[said.lower()]] if said.lower() in TRUTH else []
    elif shape.get("type") in ("integer", "number"):
        yield from _number(said, shape)


def _folded(text: str) -> str:
    return text.casefold().replace("_", " ").replace("-", " ").strip()


def _number(said: str, shape: Mapping[str, Any]) -> Iterator[float]:
    kind = int if shape["type"] == "integer" else float
    try:
        number = kind(said.replace(",", "").strip())
    except ValueError:
        return
    if math.isfinite(number) and shape.get("minimum", number) <= number <= shape.get("maximum", number):
        yield number
