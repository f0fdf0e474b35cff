"""/beliefs/: what was held to be true of something, when, and since when it was known."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.console.believing import RECORD, VALID, drawn, keys
from memories.console.checklist import LOOKED_BACK
from memories.console.people import member

LONGEST = 100


@require_safe
@never_cache
@member
def beliefs(request: Any, subject: str = "", predicate: str = "") -> HttpResponse:
    """The keys, and the timeline of one."""
    subject = (subject or request.GET.get("subject", "")).strip()[:LONGEST]
    predicate = (predicate or request.GET.get("predicate", "")).strip()[:LONGEST]
    axis, day = request.GET.get("axis", VALID), request.GET.get("day", "")
    if axis not in (VALID, RECORD) or "\0" in subject + predicate or not (day == "" or day.isascii() and day.isdigit()):
        raise Http404
    shown = None
    if subject and predicate:
        wish = {"subject": subject, "predicate": predicate, "axis": axis, "day": int(day[:6]) if day else None}
        shown = drawn(request.principal, **wish, now=timezone.now())
        if shown and day:
            request.session[LOOKED_BACK] = True
    context = {"subject": subject, "predicate": predicate, "axis": axis, "shown": shown, "now": timezone.now()}
    part = "#timeline" if request.htmx and not request.htmx.history_restore_request else ""
    if not part:
        context["keys"], context["all_keys"] = keys(request.principal)
    return render(request, f"console/beliefs.html{part}", context)
