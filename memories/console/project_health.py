"""/health/: how well the memory does its work."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from conflicts.resolution import reinstate_replaced
from memories import access
from memories.access import Principal
from memories.console.auth import member
from memories.console.belief_timeline import places
from memories.console.charts import Chart, bars
from memories.console.errors import Refusal, run_action
from memories.console.explorer_query import place_asked
from memories.console.form_addresses import takes_form
from memories.console.snippets import get_curl, server_url
from memories.console.undo_strip import offer_undo, show_done
from memories.models import Fragment
from memories.models.enums import Verb
from memories.project_health import ProjectHealth, Share, SilentSupersession, project_health

SEVERAL = "It claims several things: each is a decision of its own, to be undone among those settled lately."


@dataclass(frozen=True, slots=True)
class HealthFigure:
    """A share with its title and what it says."""

    title: str
    share: Share
    detail: str

    @property
    def percent(self) -> str:
        """In a hundred, rounded; a dash of nothing."""
        return "–" if self.share.share is None else f"{100 * self.share.share:.0f} %"


@dataclass(frozen=True, slots=True)
class SupersessionRow:
    """What yielded, and to what, with their texts, and where."""

    row: SilentSupersession
    former: str
    standing: str
    namespace: Any


@require_safe
@never_cache
@member
def health(request: Any) -> HttpResponse:
    """Return the page."""
    return _page(request)


@takes_form
@member
def reinstate(request: Any, fragment_id: uuid.UUID) -> HttpResponse:
    """Let a memory stand again that another one replaced; the strip takes that decision back."""
    principal, now = request.principal, timezone.now()
    decided, refusal = run_action(lambda: reinstate_replaced(principal, fragment_id, now=now))
    if refusal or not decided:
        return _page(request, refusal=refusal)
    there = reverse("console:memory", args=[fragment_id])
    if len(decided) > 1:
        show_done(request, "Stands again", there=there, more=SEVERAL)
    else:
        offer_undo(request, "Stands again", reverse("console:review-reopen", args=[decided[0].id]), there=there)
    query = request.GET.urlencode()
    return HttpResponseRedirect(reverse("console:health") + (f"?{query}" if query else ""), status=303)


def _page(request: Any, *, refusal: Refusal | None = None) -> HttpResponse:
    namespace, user = place_asked(request.GET)
    principal, now = request.principal.of_user(user or None), timezone.now()
    report = project_health(principal, namespace or None, now=now)
    base = server_url(request)
    asked = {name: value for name, value in (("namespace", namespace), ("user", user)) if value}
    context = {
        "report": report,
        "figures": _figures(report),
        "conflicts": _conflicts(report),
        "supersessions": _told(principal, report),
        "namespace": namespace,
        "places": places(request.principal),
        "curls": [("The report", get_curl(base, "/api/v1/health-report", **asked))],
        "refused": refusal,
        "may_undo": Verb.REVIEW in request.principal.verbs,
        "query": request.GET.urlencode(),
        "now": now,
    }
    return render(request, "console/health.html", context, status=409 if refusal else 200)


def _figures(report: ProjectHealth) -> list[HealthFigure]:
    return [
        HealthFigure("Claim something", report.claims, "of the active memories"),
        HealthFigure("Are spared", report.protected, "of the active memories: upkeep leaves them as they are"),
        HealthFigure("Went into a digest", report.digested, "of what was old enough for one"),
        HealthFigure("Found nothing", report.nothing_found, "of the searches of thirty days, in the whole project"),
    ]


def _conflicts(report: ProjectHealth) -> Chart:
    return bars(list(report.conflicts_by_age.items()), says="waiting conflicts by age, up to")


def _told(principal: Principal, report: ProjectHealth) -> list[SupersessionRow]:
    """Return the supersessions with the texts of both sides."""
    ids = {side for row in report.supersessions for side in (row.id, row.superseded_by)}
    with access.enter(principal, why="console"):
        rows = Fragment.objects.within(principal.project_id).filter(
            id__in=ids, namespace__in=access.readable_scopes(principal)
        )
        found = {row.id: row for row in rows.select_related("namespace")}
    texts = {which: row.content for which, row in found.items()}
    return [
        SupersessionRow(row, texts.get(row.id, ""), texts.get(row.superseded_by, ""), found[row.id].namespace)
        for row in report.supersessions
        if row.id in found
    ]
