"""The ways to narrow a list, each with how many memories it would leave."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Count, QuerySet
from django.db.models.functions import Coalesce

from memories.console.explorer_query import ALL, ExplorerQuery
from memories.models import Namespace
from memories.models.enums import FragmentType, Status, Tier

COLUMNS = ("status", "type", "tier", "namespace")
MOST = 20  # namespaces, and users, shown; the fullest ones


@dataclass(frozen=True, slots=True)
class FacetOption:
    """One value of a facet; `url` chooses it, or takes the choice back."""

    value: str
    count: int
    chosen: bool
    url: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter and its values."""

    name: str
    options: list[FacetOption]
    # Values that are not shown: those that hold the least.
    hidden: int = 0
    # Whether there are such as nobody counted.
    has_more: bool = False

    @property
    def total(self) -> int:
        """How many memories are left by the whole state: those of the chosen value, or of all."""
        chosen = [option.count for option in self.options if option.chosen]
        return sum(chosen) if chosen else sum(option.count for option in self.options)


def facets_of(rows: QuerySet[Any], query: ExplorerQuery, namespaces: Sequence[Namespace]) -> list[Facet]:
    """Return the facets of `rows` (not yet filtered by any), counted in one query: each leaves its own choice out."""
    roots = rows.filter(namespace__user=query.user) if query.user else rows
    roots = roots.order_by().annotate(root=Coalesce("namespace__parent_id", "namespace_id"))
    found = list(roots.values("status", "type", "tier", "root").annotate(n=Count("*")))
    names = {row.id: row.name for row in namespaces}
    for group in found:
        group["namespace"] = names.get(group.pop("root"), "")
    status = _counts(found, query, "status", Status.values)
    return [
        _facet(query, "status", status | {ALL: sum(status.values())}),
        _facet(query, "type", _counts(found, query, "type", FragmentType.values)),
        _facet(query, "tier", _counts(found, query, "tier", Tier.values)),
        _namespaces(found, query, namespaces),
        *_users(rows, query),
    ]


def _counts(found: list[dict[str, Any]], query: ExplorerQuery, name: str, words: list[str]) -> dict[str, int]:
    """Return by value, how many pass every choice but the one of this facet."""
    chosen = {column: getattr(query, column) for column in COLUMNS if column != name}
    wanted = {column: value for column, value in chosen.items() if value and value != ALL}
    counts = dict.fromkeys(words, 0)
    for group in found:
        if all(group[column] == value for column, value in wanted.items()) and group[name] in counts:
            counts[group[name]] += group["n"]
    return counts


def _facet(query: ExplorerQuery, name: str, counts: dict[str, int]) -> Facet:
    return Facet(name, [_option(query, name, value, count) for value, count in counts.items()])


def _option(query: ExplorerQuery, name: str, value: str, count: int) -> FacetOption:
    chosen = getattr(query, name) == value
    none = Status.ACTIVE.value if name == "status" else ""
    choice: dict[str, Any] = {name: none if chosen else value}
    return FacetOption(value, count, chosen, query.url(**choice))


def _namespaces(found: list[dict[str, Any]], query: ExplorerQuery, namespaces: Sequence[Namespace]) -> Facet:
    counts = _counts(found, query, "namespace", [namespace.name for namespace in namespaces])
    fullest = sorted(counts, key=lambda name: (name != query.namespace, -counts[name], name))[:MOST]
    shown = _facet(query, "namespace", {name: counts[name] for name in sorted(fullest)})
    return replace(shown, hidden=len(counts) - len(fullest))


def _users(rows: QuerySet[Any], query: ExplorerQuery) -> list[Facet]:
    """Return the users of whom the most is kept; no facet where nobody has one."""
    passing = rows.filter(replace(query, user="").conditions(), namespace__user__isnull=False).order_by()
    counted = passing.values_list("namespace__user").annotate(n=Count("*")).order_by("-n", "namespace__user")
    counts = dict(counted[: MOST + 1])
    if query.user and query.user not in counts:
        counts = {query.user: passing.filter(namespace__user=query.user).count()} | counts
    if not counts:
        return []
    shown = sorted(counts, key=lambda user: user != query.user)[:MOST]
    return [replace(_facet(query, "user", {user: counts[user] for user in shown}), has_more=len(counts) > MOST)]
