"""/memories/: find a memory, open it, see where it comes from."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from memories.console.auth import member
from memories.console.checklist import ASKED_WHY
from memories.console.errors import Refusal
from memories.console.explorer_list import browse
from memories.console.explorer_query import TABS, ExplorerQuery
from memories.console.memory_detail import read
from memories.console.saved_views import views_of
from memories.console.snippets import fragment_curls, list_curl, server_url
from memories.models.enums import Verb


@require_safe
@never_cache
@member
def explorer(request: Any, fragment_id: uuid.UUID | None = None) -> HttpResponse:
    """Return the list and the opened memory; for htmx the part that it replaces."""
    return explorer_page(request, fragment_id)


def explorer_page(
    request: Any,
    fragment_id: uuid.UUID | None,
    *,
    refusal: Refusal | None = None,
    shown: Mapping[str, str] | None = None,
) -> HttpResponse:
    """The page; with the reason why nothing was done, and what was typed in vain, or is `shown` in place of that."""
    several = len(request.projects) > 1
    query = ExplorerQuery.of(request.GET, project=request.principal.project if several else "")
    part = _part(request, fragment_id)
    now = timezone.now()
    context: dict[str, Any] = {"asked": query, "now": now, "part": part, "refusal": refusal}
    context["project"] = request.principal.project
    context["kept"] = request.POST.dict() | dict(shown or {}) if refusal else {}
    context["may_write"] = Verb.WRITE in request.principal.verbs
    if query.why and query.q:
        request.session[ASKED_WHY] = True
    if fragment_id:
        context["detail"] = read(request.principal, fragment_id, tab=query.tab, now=now)
        context["tabs"] = [(tab or "content", query.tab == tab, _tab(query, fragment_id, tab)) for tab in TABS]
    if part != "#opened":
        context |= _list_context(request, query, now)
    if fragment_id and context["may_write"]:
        context["curls"] = fragment_curls(server_url(request), context["detail"].fragment)
    response = render(request, f"console/explorer.html{part}", context, status=409 if refusal else 200)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    # The address bar gets the tidy URL, not every empty field of the form.
    return push_url(response, query.url(fragment_id, cursor=query.cursor)) if part else response


def _tab(query: ExplorerQuery, fragment_id: uuid.UUID, tab: str) -> str:
    return query.url(fragment_id, tab=tab, cursor=query.cursor)


def _part(request: Any, fragment_id: uuid.UUID | None) -> str:
    """Return which part of the page htmx wants; the whole page for browsers, and for htmx when it restores history."""
    if not request.htmx or request.htmx.history_restore_request:
        return ""
    return "#opened" if fragment_id and request.htmx.target == "detail" else "#found"


def _list_context(request: Any, query: ExplorerQuery, now: Any) -> dict[str, Any]:
    base = server_url(request)
    project = request.principal.project
    listing = browse(request.principal, query, now=now)
    curl = list_curl(base, query, project=project, names=listing.names, has_users=listing.has_users)
    return {"listing": listing, "curl": curl, "views": views_of(request.principal, query)}
