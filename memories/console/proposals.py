"""/proposals/: what language models propose; a person decides which text replaces which, and takes it back."""

import datetime
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from conflicts.resolution import AlreadyResolved
from memories import access, governance
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.decisions import already_decided
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.proposal_list import Card, ProposalFilters, load_list
from memories.console.review_items import names_of
from memories.console.snippets import KEY, action_curl, server_url
from memories.console.undo_strip import PROPOSALS, replace_strip, withdraw
from memories.models import Proposal
from memories.models.enums import Decision, ProposalKind, Verb

ACTIONS = {
    "accept": (Decision.ACCEPTED, "Accepted: the newer text replaces the older one"),
    "dismiss": (Decision.DISMISSED, "Dismissed: both texts stay"),
}


@require_safe
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return what waits, the oldest first, and what else was proposed lately."""
    return page(request, _filters(request.GET))


def _filters(query: Any) -> ProposalFilters:
    namespace, kind = query.get("namespace", ""), query.get("kind", "")
    if (kind and kind not in ProposalKind.values) or "\0" in namespace:
        raise Http404
    return ProposalFilters(namespace, kind)


def page(request: Any, filters: ProposalFilters, *, refusal: Refusal | None = None) -> HttpResponse:
    """Return the page, or the part that htmx replaces."""
    principal, now = request.principal, timezone.now()
    found = load_list(principal, filters, now=now)
    base = server_url(request)
    may_act = Verb.REVIEW in principal.verbs
    context = {
        "shown": found,
        "filters": filters,
        "kinds": ProposalKind.values,
        "may_act": may_act,
        "strip": request.session.get(PROPOSALS),
        "refusal": refusal,
        "has_sidecar": governance.health.has_sidecar(),
        "now": now,
        "curl": f"curl '{base}/api/v1/proposals?{urlencode({'waiting': 'true', **filters.asked})}' {KEY}",
        "curls": _curls(base, found.cards[0]) if may_act and found.cards else [],
    }
    part = "#proposals" if request.htmx and not request.htmx.history_restore_request else ""
    response = render(request, f"console/proposals.html{part}", context, status=409 if refusal else 200)
    patch_vary_headers(response, ["HX-Request"])
    return response


def _curls(base: str, card: Card) -> list[tuple[str, str]]:
    """Return what the buttons of the first card do, asked of the API."""
    path = f"/api/v1/proposals/{card.row.id}"
    return [(f"{word.capitalize()} the first", action_curl(base, f"{path}/{word}")) for word in ("accept", "dismiss")]


@takes_form
@member
def decide(request: Any) -> HttpResponse:
    """Decide on one, as it was seen, and leads to what is next."""
    principal, now = request.principal, timezone.now()
    principal.require(Verb.REVIEW)
    decision, labels = ACTIONS.get(request.POST.get("action", ""), ("", ""))
    proposal_id, seen = _parse_seen(request.POST.get("item", ""))
    if not decision:
        raise Http404
    refusal = _refused(
        principal,
        proposal_id,
        lambda: governance.decide(principal, proposal_id, decision, seen=seen, now=now),
        now=now,
    )
    if not refusal:
        replace_strip(request, PROPOSALS, {"id": str(proposal_id), "said": labels})
    return _redirect(request, refusal)


def _parse_seen(text: str) -> tuple[uuid.UUID, list[int]]:
    """Return the id and the revisions of the older and the newer memory that the form carries."""
    try:
        first, *revisions = text.split(":")
        found = uuid.UUID(first), [int(revision) for revision in revisions]
    except ValueError as error:
        raise Http404 from error
    if len(found[1]) != 2:
        raise Http404
    return found


def _refused(
    principal: Principal, proposal_id: uuid.UUID, act: Callable[[], Proposal], *, now: datetime.datetime
) -> Refusal | None:
    """Return why it was not done, if it was not; whoever comes second is told who was first."""

    def first_or_second() -> Proposal:
        try:
            return act()
        except AlreadyResolved as error:
            raise AlreadyResolved(_who_was_first(principal, proposal_id, now=now)) from error

    try:
        return run_action(first_or_second)[1]
    except NotFound:
        return Refusal("It is gone", "It went with one of its memories.")


def _who_was_first(principal: Principal, proposal_id: uuid.UUID, *, now: datetime.datetime) -> str:
    with access.enter(principal, why="console"):
        row = Proposal.objects.within(principal.project_id).filter(id=proposal_id).first()
        names = names_of(principal, [row.decided_by] if row else [])
    if row is None or row.decided_at is None:
        return "There is nothing left to decide."
    return already_decided(names.get(row.decided_by, "Somebody"), row.decision, row.decided_at, now)


def _redirect(request: Any, refusal: Refusal | None, *, place: str = "") -> HttpResponse:
    """Back to the list as it was narrowed down, to a place on it."""
    filters = _filters(request.POST)
    if refusal:
        return page(request, filters, refusal=refusal)
    query = f"?{urlencode(filters.asked)}" if filters.asked else ""
    return HttpResponseRedirect(reverse("console:proposals") + query + place, status=303)


@takes_form
@member
def take_back(request: Any) -> HttpResponse:
    """Take back the last decision."""
    request.principal.require(Verb.REVIEW)
    strip = request.session.get(PROPOSALS)
    withdraw(request)
    return _undone(request, uuid.UUID(strip["id"])) if strip else _redirect(request, None)


@takes_form
@member
def reopen(request: Any, proposal_id: uuid.UUID) -> HttpResponse:
    """Take back the decision on one of the list."""
    request.principal.require(Verb.REVIEW)
    withdraw(request)
    return _undone(request, proposal_id)


def _undone(request: Any, proposal_id: uuid.UUID) -> HttpResponse:
    principal, now = request.principal, timezone.now()
    refusal = _refused(principal, proposal_id, lambda: governance.undo(principal, proposal_id, now=now), now=now)
    return _redirect(request, refusal, place=f"#proposal-{proposal_id}")


@takes_form
@member
def hide(request: Any) -> HttpResponse:
    """Take the undo strip away; the decision can still be undone in the list."""
    withdraw(request)
    return _redirect(request, None)
