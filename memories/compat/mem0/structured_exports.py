"""Exports in the shape of a JSON schema: its properties are filled with what is believed of the user, and nothing else.

mem0 lets a model write them. Here a property takes the values of the predicate of its name, in any spelling that the
registry knows; one that nothing is known of takes its default, and `memories` the memories themselves.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from django.core import signing
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers

from conflicts.history import BeliefQuery, believed_claims, claims
from conflicts.keys import USER, naming
from memories.access import Principal
from memories.compat.mem0.bodies import LONGEST_TICKET
from memories.compat.mem0.export_shapes import ExportShape, folded
from memories.compat.mem0.selection import memory_answer

SALT = "mem0-export"
MOST = 1000  # memories, and claims of the user
MEMORIES = "memories"
DEEPEST, MOST_SHAPES = 6, 1000
LARGEST_NUMBER = 2**53
TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def ticket(request: Mapping[str, Any]) -> str:
    """Return an id that holds what is asked for, so that nothing of it has to be kept. Raise ValidationError."""
    made = signing.dumps(dict(request), salt=SALT, compress=True)
    if len(made) > LONGEST_TICKET:
        raise serializers.ValidationError("This asks for too much at once: give fewer conditions or a smaller schema.")
    return made


def request_of(one: str) -> dict[str, Any]:
    """Return what a ticket asks for. Raise ValidationError for what is none."""
    try:
        request: dict[str, Any] = signing.loads(one, salt=SALT)
    except signing.BadSignature as error:
        raise serializers.ValidationError({"memory_export_id": ["This is no id of an export."]}) from error
    return request


def export(principal: Principal, namespace: str, rows: QuerySet[Any], shape: ExportShape | None) -> dict[str, Any]:
    """Return the memories in a shape, as they are without one; to be read inside `access.enter`.

    Raise ValidationError for a shape that leads to too many properties.
    """
    if shape is None:
        return {MEMORIES: [memory_answer(row) for row in rows[:MOST]]}
    return _Writer(principal, namespace, rows, shape).whole()


class _Writer:
    """Fills a shape with what memories claim of the user."""

    def __init__(self, principal: Principal, namespace: str, rows: QuerySet[Any], shape: ExportShape) -> None:
        self.shape, self.rows = shape, rows
        self.shapes_left = MOST_SHAPES
        found = claims(principal, BeliefQuery(namespace, USER), now=timezone.now())
        here = list(found.filter(id__in=rows.order_by().values("id")).order_by("-created_at", "-id")[:MOST])
        self.names = naming(principal.project_id, [row.namespace_id for row in here[:1]])
        self.known: dict[str, list[str]] = defaultdict(list)
        for one in believed_claims(principal, here):
            self.known[self.predicate(one.predicate)].append(one.value)

    def predicate(self, name: str) -> str:
        """Return the one word for a predicate in any spelling."""
        return next((known.canonical(name) for known in self.names.values()), name)

    def whole(self) -> dict[str, Any]:
        """Return the object that was asked for."""
        return next((self.filled(one) for one in self.shapes(self.shape) if one.properties), {})

    def filled(self, shape: ExportShape, depth: int = 0) -> dict[str, Any]:
        """Return an object of the shape's properties."""
        named = shape.properties.items() if depth < DEEPEST else ()
        return {name: self.value(name, one, depth) for name, one in named}

    def value(self, name: str, shape: ExportShape, depth: int) -> Any:
        """Return what is known for a property: of a list all, else the newest that has its shape."""
        shapes = list(self.shapes(shape))
        for one in shapes:
            if one.kind == "object":
                return self.filled(one, depth + 1)
            if one.kind == "array":
                items = list(self.shapes(one.items)) if one.items else []
                return self.memories(items) if name == MEMORIES and not depth else self.values(name, items, one)
        fitting = (fitted for said in self.said(name) for one in shapes for fitted in _fitted(said, one))
        return next(fitting, shape.default)

    def memories(self, items: list[ExportShape]) -> list[Any]:
        """Return the memories, as objects or as texts."""
        whole = any(one.kind == "object" for one in items)
        return [memory_answer(row) if whole else row.shown for row in self.rows[:MOST]]

    def values(self, name: str, items: list[ExportShape], shape: ExportShape) -> list[Any]:
        """Return all that is known for a property, each once, as many as the shape takes."""
        wanted = items or [ExportShape.model_validate({"type": "string"})]
        found = [fitted for said in self.said(name) for one in wanted for fitted in list(_fitted(said, one))[:1]]
        return list(dict.fromkeys(found))[: shape.max_items]

    def shapes(self, shape: ExportShape, depth: int = 0) -> Iterator[ExportShape]:
        """Return the alternatives of a shape, each of one kind, those that are defined elsewhere looked up.

        Raise ValidationError for too many: definitions may lead to each other.
        """
        if depth == DEEPEST:
            return
        self.shapes_left -= 1
        if self.shapes_left < 0:
            raise serializers.ValidationError({"schema": [f"This leads to over {MOST_SHAPES} properties."]})
        for one in [*shape.any_of, *shape.one_of, *shape.all_of]:
            yield from self.shapes(one, depth + 1)
        if shape.ref:
            name = shape.ref.rpartition("/")[2]
            target = self.shape.definitions.get(name) or (self.shape if shape.ref == "#" else None)
            if target is None:
                raise serializers.ValidationError({"schema": [f"There is no definition {shape.ref}."]})
            yield from self.shapes(target, depth + 1)
        yield from shape.kinds()

    def said(self, name: str) -> list[str]:
        """Return the values believed of the user under a predicate, newest first."""
        return self.known.get(self.predicate(name), [])


def _fitted(said: str, shape: ExportShape) -> Iterator[Any]:
    """Return a value as a shape of no list and no object has it; nothing when it doesn't fit."""
    if shape.choices is not None:
        choice = shape.choices.get(folded(said))
        yield from [] if choice is None else [choice]
    elif shape.kind == "string":
        if shape.min_length <= len(said) <= (len(said) if shape.max_length is None else shape.max_length):
            yield said
    elif shape.kind == "boolean":
        yield from [TRUTH[said.lower()]] if said.lower() in TRUTH else []
    elif shape.kind in ("integer", "number"):
        yield from _number(said, shape)


def _number(said: str, shape: ExportShape) -> Iterator[float]:
    try:
        number = float(said.replace(",", "").strip())
    except ValueError:
        return
    if not math.isfinite(number) or abs(number) > LARGEST_NUMBER:
        return
    whole = number.is_integer()
    if shape.holds(number) and (whole or shape.kind == "number"):
        yield int(number) if whole else number
