"""The explorer's list: the best memories for words, or the newest ones page by page, with facets."""

import datetime
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, QuerySet

from memories import access
from memories.access import NotFound, Principal
from memories.console.explorer_query import ALL, HITS, PAGE, ExplorerQuery, question_of
from memories.console.facets import Facet, facets_of
from memories.console.presenters import Bar, score_bar
from memories.console.reasons import HitReason, Missed, reasons_of
from memories.cursors import NEWEST_FIRST, Cursor
from memories.models import Fragment, Namespace
from memories.models.enums import Status
from memories.models.namespace import NamespaceQuerySet
from memories.retrieval import find

LISTS = 40  # pairs of namespace and status that are walked one by one


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """A memory in the list; `bar` says why it stands where it stands when it was searched for."""

    fragment: Fragment
    trust: float
    url: str
    bar: Bar | None = None
    reason: HitReason | None = None
    labels: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundRows:
    """What a search found; where it `is_unanswered`, an agent is told nothing, and these are only the nearest."""

    rows: list[MemoryRow] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    degraded: bool = False
    is_unanswered: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list."""

    rows: list[MemoryRow]
    facets: list[Facet]
    total: int
    older: str | None
    names: list[str]
    is_new: bool
    search: FoundRows

    @property
    def has_users(self) -> bool:
        """Whether anything is kept of a user."""
        return any(facet.name == "user" for facet in self.facets)


def browse(principal: Principal, query: ExplorerQuery, *, now: datetime.datetime) -> Listing:
    """Return the list that was asked for. Raise NotFound for a namespace that is not the person's."""
    with access.enter(principal, why="console"):
        namespaces = access.all_readable(principal)
        if query.namespace and query.namespace not in {namespace.name for namespace in namespaces}:
            raise NotFound(f"namespace {query.namespace}")
        scopes = access.readable_scopes(principal)
        readable = Fragment.objects.within(principal.project_id).filter(namespace__in=scopes)
        rows = query.narrow(readable, project_id=principal.project_id, now=now)
        facets = facets_of(rows, query, namespaces)
        page = [] if query.q else _page(rows, query, scopes)
    names = [namespace.name for namespace in namespaces]
    search = _search(principal, query, namespaces, now) if query.q else FoundRows()
    shown = [MemoryRow(row, row.trust_at(now), query.url(row.id)) for row in page[:PAGE]]
    older = query.url(cursor=Cursor.at(page[PAGE - 1], NEWEST_FIRST)) if len(page) > PAGE else None
    is_new = not query.narrowed and not any(option.count for option in facets[0].options)
    return Listing(search.rows or shown, facets, facets[1].total, older, names, is_new, search)


def _page(rows: QuerySet[Any], query: ExplorerQuery, scopes: NamespaceQuerySet) -> list[Fragment]:
    """Return a page and one row more, which tells whether there are older ones."""
    if query.cursor:
        rows = rows.filter(query.cursor.beyond(NEWEST_FIRST))
    statuses = Status.values if query.status == ALL else [query.status]
    if query.namespace:
        scopes = scopes.filter(Q(name=query.namespace) | Q(parent__name=query.namespace))
    if query.user:
        scopes = scopes.filter(user=query.user)
    places = list(scopes.order_by()[: LISTS + 1])
    found = rows.filter(query.conditions())
    if len(places) * len(statuses) <= LISTS:
        found = found.filter(id__in=_newest(found, places, statuses))
    return list(found.select_related("namespace").order_by(*NEWEST_FIRST)[: PAGE + 1])


def _newest(rows: QuerySet[Any], namespaces: list[Namespace], statuses: list[str]) -> list[uuid.UUID]:
    """A page's ids of each namespace and status: each is one walk along an index; sorting all rows costs far more."""

    def of(status: str) -> ArraySubquery:
        one = rows.filter(namespace=OuterRef("id"), status=status).order_by(*NEWEST_FIRST)
        return ArraySubquery(one.values("id")[: PAGE + 1])

    if not namespaces:
        return []
    inside = Namespace.objects.within(namespaces[0].project_id).filter(id__in=[place.id for place in namespaces])
    lists = inside.values_list(*(of(status) for status in statuses))
    return [which for row in lists for ids in row for which in ids]


def _search(
    principal: Principal, query: ExplorerQuery, namespaces: list[Namespace], now: datetime.datetime
) -> FoundRows:
    """Return the best hits and the near misses; about a user what that user would be answered, the shared too.

    A person's look is no use by an agent, and keeps nothing from fading.
    """
    names = [namespace.name for namespace in namespaces]
    if query.user:
        principal = principal.of_user(query.user)
    question = question_of(query, project=principal.project, names=names)
    results = find(principal, replace(question, floor=None), now=now)
    is_unanswered = results.nothing_relevant
    if is_unanswered:
        results = find(principal, question, now=now)
    reasons, missed = reasons_of(principal, results.explanation)
    weights = query.weighing
    passing = {hit.fragment.id for hit in results.hits}
    if query.is_beyond_search:
        with access.enter(principal, why="console"):
            visible = Fragment.objects.within(principal.project_id).filter(id__in=passing)
            passing = set(query.narrow(visible, project_id=principal.project_id, now=now).values_list("id", flat=True))
    rows = [
        MemoryRow(
            hit.fragment,
            hit.signals["confidence"],
            query.url(hit.fragment.id),
            score_bar(hit.score, hit.signals, weights),
            reasons.get(hit.fragment.id),
            hit.labels,
        )
        for hit in results.hits
        if hit.fragment.id in passing and (query.user or query.namespace in ("", hit.fragment.namespace.root_name))
    ]
    return FoundRows(rows[:HITS], missed, "embedder" in results.degraded, is_unanswered)
