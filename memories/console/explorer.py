"""/memories/: find a memory, open it, see where it comes from."""

import uuid
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from memories.console.asking import Asked
from memories.console.browsing import browse
from memories.console.people import member
from memories.console.reading import read
from memories.console.snippets import key_command, list_curl, store_curl


@require_safe
@never_cache
@member
def explorer(request: Any, fragment_id: uuid.UUID | None = None) -> HttpResponse:
    """The list and the opened memory; for htmx the part that it replaces."""
    several = len(request.projects) > 1
    asked = Asked.of(request.GET, project=request.principal.project if several else "")
    part = _part(request, fragment_id)
    now = timezone.now()
    context: dict[str, Any] = {"asked": asked, "now": now, "project": request.principal.project}
    if fragment_id:
        context["detail"] = read(request.principal, fragment_id, now=now)
    if part != "#opened":
        context |= _list_context(request, asked, now)
    response = render(request, f"console/explorer.html{part}", context)
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    # The address bar gets the tidy URL, not every empty field of the form.
    return push_url(response, asked.url(fragment_id, cursor=asked.cursor)) if part else response


def _part(request: Any, fragment_id: uuid.UUID | None) -> str:
    """Which part of the page htmx wants; the whole page for browsers, and for htmx when it restores history."""
    if not request.htmx or request.htmx.history_restore_request:
        return ""
    return "#opened" if fragment_id and request.htmx.target == "detail" else "#found"


def _list_context(request: Any, asked: Asked, now: Any) -> dict[str, Any]:
    base = request.build_absolute_uri("/").rstrip("/")
    project = request.principal.project
    listing = browse(request.principal, asked, now=now)
    context = {"listing": listing, "curl": list_curl(base, asked, project=project, names=listing.names)}
    if listing.is_new:
        context |= {"store_curl": store_curl(base, project=project), "key_command": key_command(project=project)}
    return context
