"""/beliefs/: what was held to be true of something, when, and since when it was known."""

import datetime
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.console.auth import member
from memories.console.belief_timeline import RECORD, VALID, build_timeline, keys, places
from memories.console.checklist import LOOKED_BACK
from memories.console.explorer_query import place_asked
from memories.console.snippets import get_curl, server_url

LONGEST = 100


@require_safe
@never_cache
@member
def beliefs(request: Any, subject: str = "", predicate: str = "") -> HttpResponse:
    """Return the keys, and the timeline of one."""
    subject = (subject or request.GET.get("subject", "")).strip()[:LONGEST]
    predicate = (predicate or request.GET.get("predicate", "")).strip()[:LONGEST]
    namespace, user = place_asked(request.GET)
    principal = request.principal.of_user(user or None)
    axis, now = request.GET.get("axis", VALID), timezone.now()
    if axis not in (VALID, RECORD) or "\0" in subject + predicate + namespace:
        raise Http404
    day, shown = _day(request.GET.get("day", "")), None
    if subject and predicate:
        options = {"subject": subject, "predicate": predicate, "axis": axis, "day": day, "namespace": namespace}
        shown = build_timeline(principal, **options, now=now)
        if shown and day and day < now.date():
            request.session[LOOKED_BACK] = True
    context = {"subject": subject, "predicate": predicate, "axis": axis, "shown": shown, "now": now}
    context |= {"namespace": namespace, "whose": user}
    if shown:
        key = {"subject": subject, "predicate": predicate} | ({"namespace": namespace} if namespace else {})
        key |= {"user": user} if user else {}
        base = server_url(request)
        at = {"as_of": shown.at.isoformat()} | ({"known_at": shown.at.isoformat()} if axis == RECORD else {})
        context["curls"] = [
            ("What was believed", get_curl(base, "/api/v1/claims", **key, **at)),
            ("The timeline", get_curl(base, "/api/v1/claims/timeline", **key)),
        ]
    part = "#timeline" if request.htmx and not request.htmx.history_restore_request else ""
    if not part:
        context["keys"], context["all_keys"] = keys(principal, namespace=namespace)
        context["places"] = places(request.principal)
    return render(request, f"console/beliefs.html{part}", context)


def _day(text: str) -> datetime.date | None:
    """Return the day that an address names (UTC), None for none. Raise Http404."""
    try:
        return datetime.date.fromisoformat(text) if text else None
    except ValueError as error:
        raise Http404 from error
