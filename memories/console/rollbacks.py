"""/rollbacks/: a namespace as it was at a moment; planned first, and run by that plan."""

import datetime
import uuid
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories import access, jobs
from memories.access import NotFound
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.namespaces import names
from memories.console.operations import ROLLBACK, place_of, redirect_or_error, rows_of
from memories.console.snippets import action_curl, server_url
from memories.models import Operation
from memories.models.enums import Verb
from memories.operations import ACCEPT

REFUSED = "Nothing was planned"
LONGEST = 40  # characters of a time


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def rollbacks(request: Any) -> HttpResponse:
    """Return the form; sent, it plans a rollback and leads to the plan."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    given = request.POST if request.method == "POST" else request.GET
    name, to = given.get("namespace", ""), given.get("to", "").strip()
    places = names(principal)
    if name and name not in places or len(to) > LONGEST or "\0" in to:
        raise Http404
    refusal = None
    if request.method == "POST":
        made, refusal = _planned(request, name, to)
        if made is not None:
            return HttpResponseRedirect(reverse("console:operation", args=[made.id]), status=303)
    with access.enter(principal, why="console"):
        rows = list(rows_of(principal).filter(kind=ROLLBACK, dry_run=False)[:20])
    body = {"namespace": name or f"{principal.project}:main", "to": to or "2026-01-01T00:00:00Z", "dry_run": True}
    context = {
        "names": places,
        "name": name,
        "to": _shown(to),
        "rows": [(row, _read(row.options["to"])) for row in rows],
        "refusal": refusal,
        "now": timezone.now(),
        "curls": [("Plan it", action_curl(server_url(request), "/api/v1/rollbacks", body))],
    }
    return render(request, "console/rollbacks.html", context, status=409 if refusal else 200)


def _read(to: str) -> datetime.datetime | None:
    """Return a time, in UTC where it says no other; None for what is none."""
    try:
        at = parse_datetime(to.replace(" ", "+"))
    except ValueError:
        return None
    return at if at is None or at.tzinfo else at.replace(tzinfo=datetime.UTC)


def _shown(to: str) -> str:
    """Return a time as its field takes it: in UTC, without an offset, down to milliseconds."""
    at = _read(to)
    return at.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") if at else ""


def _planned(request: Any, name: str, to: str) -> tuple[Operation | None, Refusal | None]:
    at = _read(to)
    if not name:
        return None, Refusal(REFUSED, "Choose a namespace.")
    if at is None:
        return None, Refusal(REFUSED, "Say to when.")
    place = place_of(request.principal, name)
    wish: dict[str, Any] = {"kind": ROLLBACK, "namespace": place, "options": {"to": at.isoformat()}, "dry_run": True}
    return run_action(lambda: jobs.start(request.principal, **wish, now=timezone.now()))


@takes_form
@member
def run(request: Any, operation_id: uuid.UUID) -> HttpResponse:
    """Run a plan, or nothing where it would do something else by now."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    with access.enter(principal, why="console"):
        plan = rows_of(principal).filter(kind=ROLLBACK, id=operation_id, dry_run=True).first()
    if plan is None:
        raise NotFound("plan")
    options: dict[str, Any] = {"to": plan.options["to"], "plan_id": str(plan.id)}
    if request.POST.get(ACCEPT) == "yes":
        options[ACCEPT] = True
    wish: dict[str, Any] = {"kind": ROLLBACK, "namespace": plan.namespace, "options": options}
    made, refusal = run_action(lambda: jobs.start(principal, **wish, now=timezone.now()))
    return redirect_or_error(request, made.id if made else None, refusal, shows=operation_id)
