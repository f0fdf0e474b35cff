"""The ways to narrow a list, each with how many memories it would leave."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from memories.console.asking import ALL, Asked
from memories.models import Namespace
from memories.models.words import FragmentType, Status, Tier

MOST = 20  # namespaces shown; the fullest ones


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a facet; `url` chooses it, or takes the choice back."""

    value: str
    count: int
    chosen: bool
    url: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter and its values."""

    name: str
    options: list[Option]

    @property
    def total(self) -> int:
        """How many memories are left by the whole state: those of the chosen value, or of all."""
        chosen = [option.count for option in self.options if option.chosen]
        return sum(chosen) if chosen else sum(option.count for option in self.options)


def facets_of(rows: QuerySet[Any], asked: Asked, namespaces: Sequence[Namespace]) -> list[Facet]:
    """The facets of `rows` (unfiltered), a query each."""
    status = _counts(rows, asked, "status", Status.values)
    return [
        _facet(asked, "status", status | {ALL: sum(status.values())}),
        _facet(asked, "type", _counts(rows, asked, "type", FragmentType.values)),
        _facet(asked, "tier", _counts(rows, asked, "tier", Tier.values)),
        _namespaces(rows, asked, namespaces),
    ]


def _counts(rows: QuerySet[Any], asked: Asked, name: str, words: list[str]) -> dict[str, int]:
    column = {"namespace": "namespace__name"}.get(name, name)
    counted = rows.filter(asked.conditions(without=name)).order_by().values_list(column)
    found = dict(counted.annotate(n=Count("id")))
    return {word: found.get(word, 0) for word in words}


def _facet(asked: Asked, name: str, counts: dict[str, int]) -> Facet:
    return Facet(name, [_option(asked, name, value, count) for value, count in counts.items()])


def _option(asked: Asked, name: str, value: str, count: int) -> Option:
    chosen = getattr(asked, name) == value
    none = Status.ACTIVE.value if name == "status" else ""
    choice: dict[str, Any] = {name: none if chosen else value}
    return Option(value, count, chosen, asked.url(**choice))


def _namespaces(rows: QuerySet[Any], asked: Asked, namespaces: Sequence[Namespace]) -> Facet:
    counts = _counts(rows, asked, "namespace", [namespace.name for namespace in namespaces])
    fullest = sorted(counts, key=lambda name: (name != asked.namespace, -counts[name], name))[:MOST]
    return _facet(asked, "namespace", {name: counts[name] for name in sorted(fullest)})
