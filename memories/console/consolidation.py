"""/consolidation/: look at a plan first, apply it, take it back."""

import uuid
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories import access, jobs
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.operations import CONSOLIDATE, place_of, redirect_or_error, rows_of
from memories.console.pagination import page_of
from memories.console.plan_steps import noted, page_number
from memories.console.timetable import times_of
from memories.models import Namespace, Operation
from memories.models.enums import Verb
from memories.operations import ACCEPT


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def runs(request: Any) -> HttpResponse:
    """Return the runs; POST looks what one would do."""
    if request.method != "POST":
        return _page(request)
    request.principal.require(Verb.ADMIN)
    namespace = place_of(request.principal, request.POST.get("namespace", ""))
    made, refusal = run_action(lambda: _start(request.principal, namespace, {}, dry_run=True))
    if made is None:
        return _page(request, refusal)
    return HttpResponseRedirect(reverse("console:run", args=[made.id]))


def _page(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    principal = request.principal
    with access.enter(principal, why="console"):
        page = page_of(rows_of(principal).filter(kind=CONSOLIDATE), request.GET, of="consolidation")
        context = {
            "rows": page.rows,
            "older": page.older,
            "namespaces": access.all_readable(principal),
            "may_act": Verb.ADMIN in principal.verbs,
            "refusal": refusal,
            "now": timezone.now(),
        }
    context |= times_of(request, "consolidation")
    return render(request, "console/consolidation.html", context, status=409 if refusal else 200)


@takes_form
@member
def apply(request: Any, operation_id: uuid.UUID) -> HttpResponse:
    """Apply the plan of an earlier look; of one that was too much to go unasked, confirmed."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    with access.enter(principal, why="console"):
        looked = rows_of(principal).filter(kind=CONSOLIDATE, id=operation_id).first()
    if looked is None:
        raise NotFound("plan")
    options: dict[str, Any] = {"plan_id": str((looked.report or {}).get("plan_id", operation_id))}
    if left := noted(request, operation_id):
        options["leave_out"] = sorted(left)
    elif before := looked.options.get("leave_out"):
        options["leave_out"] = before
    if request.POST.get("confirm") == "yes" or looked.options.get("confirm"):
        options["confirm"] = True
    if request.POST.get(ACCEPT) == "yes":
        options[ACCEPT] = True
    made, refusal = run_action(lambda: _start(principal, looked.namespace, options))
    return redirect_or_error(request, made.id if made else None, refusal, shows=operation_id, name="run")


@takes_form
@member
def save_ticks(request: Any, operation_id: uuid.UUID) -> HttpResponse:
    """Keep the ticks of the page that was shown, and leads to another page of the plan's steps."""
    request.principal.require(Verb.ADMIN)
    with access.enter(request.principal, why="console"):
        if not rows_of(request.principal).filter(kind=CONSOLIDATE, id=operation_id).exists():
            raise NotFound("plan")
    noted(request, operation_id)
    page = page_number(request.POST.get("page", ""))
    return HttpResponseRedirect(f"{reverse('console:run', args=[operation_id])}?page={page}#steps", status=303)


def _start(principal: Principal, namespace: Namespace, options: dict[str, Any], *, dry_run: bool = False) -> Operation:
    return jobs.start(
        principal, kind=CONSOLIDATE, namespace=namespace, options=options, dry_run=dry_run, now=timezone.now()
    )
