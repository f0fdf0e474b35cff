"""/thresholds/: when a project's memories get cold, shorter, archived and evicted, and what that would do now."""

from dataclasses import asdict
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.namespaces import names
from memories.console.operations import place_of
from memories.console.undo_strip import offer_undo
from memories.models.enums import Verb
from memories.upkeep.threshold_preview import preview_thresholds
from memories.upkeep.thresholds import NAMES, Thresholds, own_thresholds, parse_thresholds, set_thresholds

SAID = {
    "cold_below": "cold below a relevance of",
    "archive_below": "archived by consolidation below a relevance of",
    "warm_days": "warm after days without use",
    "summary_days": "shortened to its first sentences after days",
    "keywords_days": "to words after days",
    "hash_days": "to its vector after days",
    "capacity": "how many memories the project may hold",
    "eviction_start": "the lightest leave from this share of the capacity on",
    "eviction_target": "down to this share",
}


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def thresholds(request: Any) -> HttpResponse:
    """Return the form with what its numbers would do to a namespace; `step=save` sets them."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    given = request.POST if request.method == "POST" else own_thresholds(principal.project_id)
    if request.POST.get("step") == "save":
        former = own_thresholds(principal.project_id)
        _, refusal = run_action(lambda: set_thresholds(principal, given))
        if refusal is None:
            there, before = reverse("console:thresholds"), {name: str(former.get(name, "")) for name in NAMES}
            offer_undo(request, "The thresholds are set", there, there=there, step="save", **before)
            return HttpResponseRedirect(there, status=303)
        return _page(request, given, refusal)
    return _page(request, given)


def _page(request: Any, given: Any, refusal: Refusal | None = None) -> HttpResponse:
    own: dict[str, Any] | None = None
    if refusal is None:
        own, refusal = run_action(lambda: parse_thresholds(given))
    known = names(request.principal)
    place = request.POST.get("namespace") or next(iter(known), "")
    if place and place not in known:
        raise Http404
    preview = None
    if own is not None and place:
        namespace = place_of(request.principal, place)
        preview = preview_thresholds(request.principal, namespace, Thresholds(**own), now=timezone.now())
    installation = asdict(Thresholds())
    context = {
        "rows": [(name, SAID[name], given.get(name, ""), installation[name]) for name in NAMES],
        "names": known,
        "place": place,
        "preview": preview,
        "refusal": refusal,
    }
    return render(request, "console/thresholds.html", context, status=409 if refusal else 200)
