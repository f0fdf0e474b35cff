"""When what is scheduled runs next, and setting how often."""

from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories import schedules
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.undo_strip import offer_undo, show_done
from memories.models.enums import Verb

# By the page that shows it.
NAMES = {"consolidation": "consolidate", "backups": "back up"}


def times_of(request: Any, page: str) -> dict[str, Any]:
    """Return what a page shows of its schedule."""
    may_set = Verb.ADMIN in request.principal.verbs and schedules.may_schedule(request.user)
    return {
        "schedule": schedules.schedule(NAMES[page], now=timezone.now()),
        "schedule_page": page,
        "periods": schedules.PERIODS,
        "may_schedule": may_set,
    }


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def times(request: Any, page: str) -> HttpResponse:
    """Return the schedule of a page by itself; POST sets it."""
    if page not in NAMES:
        raise Http404
    request.principal.require(Verb.ADMIN)
    if request.method != "POST":
        return _page(request, page)
    if not schedules.may_schedule(request.user):
        return render(request, "403.html", status=403)
    every = request.POST.get("every", "").strip()
    options: dict[str, Any] = {
        "every": int(every) if every.isascii() and every.isdigit() and len(every) < 8 else 0,
        "period": request.POST.get("period", ""),
        "enabled": request.POST.get("enabled") == "yes",
    }
    before, there = schedules.schedule(NAMES[page], now=timezone.now()), reverse(f"console:{page}")
    _, refusal = run_action(lambda: schedules.set_schedule(NAMES[page], **options))
    if refusal:
        return _page(request, page, refusal)
    if before.every:
        former = _form(before.every, before.period, on=before.enabled)
        offer_undo(request, f"The schedule of {page} is changed", request.path, there=there, **former)
    elif options["enabled"] and not before.enabled:
        off = _form(options["every"], options["period"], on=False)
        offer_undo(request, f"The schedule of {page} is set", request.path, there=there, label="Switch it off", **off)
    else:  # what was no interval can't be set here
        show_done(request, f"The schedule of {page} is set", there=there)
    return HttpResponseRedirect(there, status=303)


def _form(every: int, period: str, *, on: bool) -> dict[str, Any]:
    return {"every": every, "period": period, "enabled": "yes" if on else "no"}


def _page(request: Any, page: str, refusal: Refusal | None = None) -> HttpResponse:
    context = {**times_of(request, page), "refusal": refusal, "kept": request.POST, "open": True}
    return render(request, "console/schedule.html", context, status=409 if refusal else 200)
