"""/thresholds/: when a project's memories get cold, shorter and leave, how fast they come there, what that does now."""

from collections.abc import Mapping
from dataclasses import dataclass
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
from memories.upkeep.thresholds import (
    FLAGS,
    Thresholds,
    own_thresholds,
    parse_thresholds,
    set_thresholds,
    texts_of,
)

SAID = {
    "Where memories go": {
        "cold_below": "cold below a relevance of",
        "archive_below": "archived by consolidation below a relevance of",
        "warm_days": "warm after days without use",
        "summary_days": "shortened to its first sentences after days",
        "keywords_days": "to words after days",
        "hash_days": "to its vector after days",
        "capacity": "how many memories the project may hold",
        "eviction_start": "the lightest leave from this share of the capacity on",
        "eviction_target": "down to this share",
    },
    "How fast relevance fades": {
        "decay_per_day": "rate per day without use",
        "decay_sm2": "more slowly after reads on several days",
    },
    "What memories weigh": {
        "weight_decay_per_day": "rate of loss per day of age",
        "weight_access": "gain by reads, times their logarithm",
        "weight_emotion": "gain by feeling, times its strength",
        "weight_kept": "factor of what is pinned or an anchor",
    },
    "Importance where none is given": {
        "weight_base": "to begin with",
        "weight_entity": "for each name in the text",
        "weight_valence": "for feeling, times its strength",
        "weight_manual": "when written by hand",
        "weight_conversation": "when said in a conversation",
    },
}


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number of the form, or one of some words; what the installation has stands where it is empty."""

    name: str
    said: str
    value: str
    default: str
    words: tuple[str, ...] = ()


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
def thresholds(request: Any) -> HttpResponse:
    """Return the form with what its numbers would do to a namespace; `step=save` sets them."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    given = request.POST if request.method == "POST" else texts_of(own_thresholds(principal.project_id))
    if request.POST.get("step") == "save":
        former = texts_of(own_thresholds(principal.project_id))
        _, refusal = run_action(lambda: set_thresholds(principal, given))
        if refusal is None:
            there = reverse("console:thresholds")
            offer_undo(request, "The thresholds are set", there, there=there, step="save", **former)
            return HttpResponseRedirect(there, status=303)
        return _page(request, given, refusal)
    return _page(request, given)


def _page(request: Any, given: Mapping[str, str], refusal: Refusal | None = None) -> HttpResponse:
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
        preview = preview_thresholds(request.principal, namespace, Thresholds.of(own), now=timezone.now())
    context = {
        "groups": _groups(given),
        "names": known,
        "place": place,
        "preview": preview,
        "refusal": refusal,
    }
    return render(request, "console/thresholds.html", context, status=409 if refusal else 200)


def _groups(given: Mapping[str, str]) -> list[tuple[str, list[NumberField]]]:
    installation = texts_of(Thresholds().values)

    def field(name: str, said: str) -> NumberField:
        words = tuple(FLAGS) if installation[name] in FLAGS else ()
        return NumberField(name, said, given.get(name, ""), installation[name], words)

    return [(title, [field(*each) for each in said.items()]) for title, said in SAID.items()]
