"""The explorer's list: the best memories for words, or the newest ones page by page, with facets."""

import datetime
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from conflicts.front import trust_of
from memories import access
from memories.access import NotFound, Principal
from memories.console.asking import Asked, Cursor
from memories.console.facets import Facet, facets_of
from memories.console.showing import Bar, score_bar
from memories.models import Fragment, Namespace
from memories.models.namespace import SHARED
from memories.retrieval import BALANCED, Question, find

PAGE = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in the list; `bar` says why it stands where it stands when it was searched for."""

    fragment: Fragment
    trust: float
    url: str
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list."""

    rows: list[Row]
    facets: list[Facet]
    total: int
    older: str | None
    names: list[str]
    is_new: bool
    degraded: bool = False


def browse(principal: Principal, asked: Asked, *, now: datetime.datetime) -> Listing:
    """The list that was asked for. Raises NotFound for a namespace that is not the person's."""
    with access.enter(principal, why="console"):
        namespaces = access.all_readable(principal)
        if asked.namespace and asked.namespace not in {namespace.name for namespace in namespaces}:
            raise NotFound(f"namespace {asked.namespace}")
        rows = Fragment.objects.within(principal.project_id).in_namespaces(namespaces)
        facets = facets_of(rows, asked, namespaces)
        page = [] if asked.q else _page(rows.filter(asked.conditions()), asked)
    names = [namespace.name for namespace in namespaces]
    found, degraded = _search(principal, asked, namespaces, now) if asked.q else ([], False)
    shown = [Row(row, trust_of(row, now=now), asked.url(row.id)) for row in page[:PAGE]]
    older = asked.url(cursor=Cursor.after(page[PAGE - 1])) if len(page) > PAGE else None
    is_new = not asked.narrowed and not any(option.count for option in facets[0].options)
    return Listing(found or shown, facets, facets[1].total, older, names, is_new, degraded)


def _page(rows: QuerySet[Any], asked: Asked) -> list[Fragment]:
    """A page and one row more, which tells whether there are older ones."""
    if asked.cursor:
        rows = rows.filter(asked.cursor.older())
    return list(rows.select_related("namespace").order_by("-created_at", "-id")[: PAGE + 1])


def question_of(asked: Asked, *, project: str, names: list[str]) -> Question:
    """The search that the state stands for."""
    return Question(
        query=asked.q,
        namespaces=[asked.namespace] if asked.namespace else names or [f"{project}:{SHARED}"],
        project_wide=False,
        filters=asked.search_filters(),
        top_k=PAGE,
    )


def _search(
    principal: Principal, asked: Asked, namespaces: list[Namespace], now: datetime.datetime
) -> tuple[list[Row], bool]:
    """The best hits. A person's look is no use by an agent: it keeps no memory from fading, hence `find`."""
    names = [namespace.name for namespace in namespaces]
    results = find(principal, question_of(asked, project=principal.project, names=names), now=now)
    rows = [
        Row(
            hit.fragment,
            hit.signals["confidence"],
            asked.url(hit.fragment.id),
            score_bar(hit.score, hit.signals, BALANCED),
        )
        for hit in results.hits
        if asked.namespace in ("", hit.fragment.namespace.name)
    ]
    return rows, bool(results.degraded)
