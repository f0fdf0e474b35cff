"""Saved views: states of the explorer that a person gave a name."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from memories import access
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.explorer_query import ExplorerQuery
from memories.console.form_addresses import takes_form
from memories.console.undo_strip import offer_undo
from memories.models import SavedView
from memories.models.enums import Verb

NAME, QUERY = 60, 4_000


@dataclass(frozen=True, slots=True)
class View:
    """A saved view; `chosen` when the list is in its state."""

    id: uuid.UUID
    name: str
    url: str
    chosen: bool


def views_of(principal: Principal, query: ExplorerQuery) -> list[View]:
    """Return the person's own, by name."""
    with access.enter(principal, why="console"):
        views = SavedView.objects.within(principal.project_id).filter(owner_id=principal.owner_id)
        rows = list(views.order_by("name", "id"))
    return [View(row.id, row.name, _url(row.query, query.project), row.query == query.view) for row in rows]


def _url(query: str, project: str) -> str:
    there = QueryDict(query, mutable=True)
    if project:
        there["project"] = project
    return f"{reverse('console:memories')}{f'?{there.urlencode()}' if there else ''}"


@takes_form
@member
def save(request: Any) -> HttpResponse:
    """Names the state that the form carries, and leads there."""
    principal = request.principal
    principal.require(Verb.WRITE)
    several = len(request.projects) > 1
    query = ExplorerQuery.of(QueryDict(request.POST.get("query", "")), project=principal.project if several else "")
    name = request.POST.get("name", "").strip()[:NAME]
    if not name or "\0" in name or len(query.view) > QUERY:
        raise Http404
    with access.enter(principal, why="console"):
        views = SavedView.objects.within(principal.project_id).filter(owner_id=principal.owner_id, name=name)
        before = views.values_list("query", flat=True).first()
        SavedView.objects.keep(principal.project_id, principal.owner_id, name=name, query=query.view)
        row = views.get()
    text: dict[str, Any] = {"there": query.newest}
    if before is None:
        offer_undo(request, "The view is saved", reverse("console:delete-view", args=[row.id]), **text)
    else:
        offer_undo(request, "The view shows this now", reverse("console:save-view"), **text, name=name, query=before)
    return HttpResponseRedirect(query.newest, status=303)


@takes_form
@member
def delete(request: Any, view_id: uuid.UUID) -> HttpResponse:
    """Let go of one of the person's own."""
    principal = request.principal
    principal.require(Verb.WRITE)
    with access.enter(principal, why="console"):
        row = SavedView.objects.within(principal.project_id).take(view_id, owner_id=principal.owner_id)
        if row is None:
            raise NotFound("view")
    there, former = reverse("console:memories"), {"name": row.name, "query": row.query}
    offer_undo(request, f"The view “{row.name}” is gone", reverse("console:save-view"), there=there, **former)
    return HttpResponseRedirect(there, status=303)
