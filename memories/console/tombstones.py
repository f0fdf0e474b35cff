"""/tombstones/: what was known and is gone, and how to get it back."""

import uuid
from typing import Any

from django.db.models import Exists, OuterRef
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import access, erasure, upkeep
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.pagination import page_of
from memories.console.snippets import action_curl, get_curl, server_url
from memories.console.undo_strip import offer_undo
from memories.models import Archive, Fragment, Tombstone
from memories.models.enums import Verb
from memories.models.history import events_of

LONGEST = 100


@require_safe
@never_cache
@member
def browse(request: Any) -> HttpResponse:
    """Return the tombstones of a topic, or all; the last to leave first."""
    return _page(request)


def _page(request: Any, refusal: Refusal | None = None, back: Fragment | None = None) -> HttpResponse:
    topic, principal = request.GET.get("topic", "").strip()[:LONGEST], request.principal
    if "\0" in topic:
        raise Http404
    with access.enter(principal, why="console"):
        copies = Archive.objects.whole().filter(project_id=OuterRef("project_id"), fragment_id=OuterRef("original_id"))
        rows = Tombstone.objects.within(principal.project_id).filter(namespace__in=access.readable_scopes(principal))
        if topic:
            rows = rows.filter(topics__contains=[topic.lower()])
        rows = rows.annotate(restorable=Exists(copies)).select_related("namespace")
        page = page_of(rows, request.GET, of="tombstones", by="evicted_at")
    context = {
        "rows": page.rows,
        "older": page.older,
        "topic": topic,
        "refusal": refusal,
        "back": back,
        "now": timezone.now(),
    }
    base = server_url(request)
    context["curls"] = [("This list", get_curl(base, "/api/v1/tombstones", topic=topic))]
    if page.rows and Verb.WRITE in principal.verbs:
        first = f"/api/v1/tombstones/{page.rows[0].id}/restore"
        context["curls"] += [("Restore the first", action_curl(base, first))]
    context |= {"may_act": Verb.WRITE in principal.verbs}
    return render(request, "console/tombstones.html", context, status=409 if refusal or back else 200)


@takes_form
@member
def restore(request: Any, tombstone_id: uuid.UUID) -> HttpResponse:
    """Bring the memory back, and leads to it; of one that is back already it says so."""
    request.principal.require(Verb.WRITE)
    try:
        admission, refusal = run_action(
            lambda: upkeep.lifecycle.restore(request.principal, tombstone_id, now=timezone.now())
        )
    except NotFound:
        if (back := _find_returned(request.principal, tombstone_id)) is None:
            raise
        return _page(request, back=back)
    if admission is None:
        return _page(request, refusal)
    there = reverse("console:memory", args=[admission.fragment.id])
    its_own = reverse("console:act", args=[admission.fragment.id])
    offer_undo(request, "The memory is back", its_own, there=there, label="Archive it", action="archive")
    return HttpResponseRedirect(there)


def _find_returned(principal: Principal, tombstone_id: uuid.UUID) -> Fragment | None:
    """Return the memory of a tombstone that is gone because the memory is back; what was forgotten is not found."""
    with access.enter(principal, why="console"):
        events = events_of(Tombstone).objects.filter(project=principal.project_id, pgh_obj_id=tombstone_id)
        ids = events.values("original_id")
        rows = Fragment.objects.within(principal.project_id).filter(id__in=ids).select_related("namespace")
        row: Fragment | None = rows.first()
    return row if row and principal.covers_reading(row.namespace.name) else None


@takes_form
@member
def purge(request: Any, tombstone_id: uuid.UUID) -> HttpResponse:
    """Erase what is left of it, the archive's copy too, once "purge" was typed."""
    principal = request.principal
    with access.enter(principal, why="console"):
        stone = upkeep.lifecycle.visible_tombstone(principal, tombstone_id)
    if request.POST.get("confirm", "").strip() != "purge":
        return _page(request, Refusal("Nothing was purged", "Type purge to erase what is left of it."))
    _, refusal = run_action(lambda: erasure.forget(principal, stone.original_id, now=timezone.now()))
    return _page(request, refusal) if refusal else HttpResponseRedirect(reverse("console:tombstones"), status=303)
