"""/review/: what agents may not settle waits here for a person: decide, undo, next."""

import datetime
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from conflicts.enums import Resolution
from conflicts.resolution import waiting
from conflicts.resolution.review_queue import AT_ONCE, reserve, unforked
from memories import access
from memories.access import NotFound, Principal
from memories.console import decisions, recent_decisions, review_items
from memories.console.auth import member
from memories.console.form_addresses import takes_form
from memories.console.plan_steps import page_number
from memories.console.snippets import KEY, action_curl, server_url
from memories.console.undo_strip import REVIEW, replace_strip, withdraw
from memories.models.enums import Status, Verb

SKIPPED = "review-skipped"
SKIPPED_MOST, TOLD = 200, 5


@require_safe
@never_cache
@member
def review(request: Any, conflict_id: uuid.UUID | None = None) -> HttpResponse:
    """Return the queue, and the conflict that is opened; without one, the first that nobody else looks at."""
    return page(request, conflict_id, lately=conflict_id is None and "settled" in request.GET)


def page(
    request: Any,
    conflict_id: uuid.UUID | None = None,
    *,
    status: int = 200,
    refused: Sequence[decisions.DecisionNotice] = (),
    tried: int = 0,
    lately: bool = False,
) -> HttpResponse:
    """The page, or the part that htmx replaces. A refusal stands with what it is about; `lately`: what was settled."""
    principal, now = request.principal, timezone.now()
    may_act = Verb.REVIEW in principal.verbs
    with access.enter(principal, why="console"):
        where, number = _where(request)
        listed = review_items.load_queue(principal, last=_skipped(request), namespace=where, page=number, now=now)
        rows = listed.items
        first = None if lately else next((item.row.id for item in rows if not item.held_by), None)
        opened = _find_opened(principal, conflict_id or first, is_told=bool(refused), now=now)
        if opened and may_act and opened.row.resolved_at is None:
            reserve(principal, opened.row.id, now=now)
        context = {
            "items": rows,
            "following": review_items.following(listed, opened) if opened else None,
            "left": listed.left,
            "listed": listed,
            "place": where,
            "where": _query(request),
            "done": _settled_today(request, now=now),
            "opened": opened,
            "may_act": may_act,
            "strip": request.session.get(REVIEW),
            "now": now,
            "curls": _curls(request, opened.row) if opened and may_act else [],
            "curl": f"curl '{server_url(request)}/api/v1/conflicts?status=pending' {KEY}",
            "settled": recent_decisions.list_settled(principal, request.GET, namespace=where) if lately else None,
            "most": AT_ONCE,
            "refused": recent_decisions.describe_refusals(principal, refused[:TOLD]),
            "refusals": len(refused),
            "tried": tried,
            "kept": request.POST if refused else {},
            "ticked": {refusal.conflict_id for refusal in refused} if tried > 1 else (),
        }
    part = "#queue" if request.htmx and not request.htmx.history_restore_request else ""
    response = render(request, f"console/review.html{part}", context, status=status)
    patch_vary_headers(response, ["HX-Request"])
    its_own = reverse("console:conflict", args=[opened.row.id]) + _query(request) if opened else ""
    return push_url(response, its_own or _list(request, lately=lately)) if part else response


def _find_opened(
    principal: Principal, conflict_id: uuid.UUID | None, *, is_told: bool, now: datetime.datetime
) -> review_items.Opened | None:
    """Return the conflict to show, if any; where a refusal tells that it is gone, none."""
    try:
        return review_items.load_conflict(principal, conflict_id, now=now) if conflict_id else None
    except NotFound:
        if is_told:
            return None
        raise


def _list(request: Any, *, lately: bool) -> str:
    """Return the address of the queue, or of what was settled lately, of what is asked for."""
    return reverse("console:review") + _query(request, **({"settled": 1} if lately else {}))


def _where(request: Any) -> tuple[str, int]:
    """Return the namespace whose queue is asked for, if one is, and the page. Raise Http404 for what is no page."""
    return request.GET.get("namespace", ""), page_number(request.GET.get("page", ""))


def _query(request: Any, **params: Any) -> str:
    """Return the same as the address carries it, with the project of a member of several, and with more."""
    where, number = _where(request)
    params |= ({"namespace": where} if where else {}) | ({"page": number} if number > 1 else {})
    params |= {"project": request.principal.project} if len(request.projects) > 1 else {}
    return f"?{urlencode(params)}" if params else ""


def _curls(request: Any, row: Any) -> list[tuple[str, str]]:
    """Return what the buttons do, asked of the API."""
    base, path = server_url(request), f"/api/v1/conflicts/{row.id}"
    if row.resolved_at is not None:
        return [("Undo", action_curl(base, f"{path}/undo"))]
    ways = [("Accept", {"action": "supersede"}), ("Reject", {"action": "reject"})]
    ways += [("Keep both", {"action": "keep_both", "keep": "pair"})] if row.newcomer_id else []
    return [(label, action_curl(base, f"{path}/resolve", {**body, "revision": row.revision})) for label, body in ways]


def _settled_today(request: Any, *, now: datetime.datetime) -> int:
    """Return how many conflicts this person has settled today."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    decided = Q(resolved_by=request.principal.owner_id, resolved_at__gte=today)
    return int(unforked(waiting(request.principal, status="resolved").filter(decided)).count())


@takes_form
@member
def decide(request: Any) -> HttpResponse:
    """Decide what the form names, each on the revision that was seen, and leads to what is next."""
    request.principal.require(Verb.REVIEW)
    action, now = request.POST.get("action", ""), timezone.now()
    seen = _parse_seen(request)
    if len(seen) > AT_ONCE:
        return page(request, seen[0][0], status=409, refused=[decisions.too_many_text(seen)], tried=1)
    if action == "skip":
        return _skip(request, seen)
    if action == "edit":
        outcomes, text = (
            decisions.resolve_with_edit(request.principal, seen, request.POST, now=now),
            "Edited and accepted",
        )
    else:
        if action not in decisions.ACTIONS:
            raise Http404
        outcomes = decisions.resolve_each(
            request.principal, seen, action, request.POST.get("note", "")[: decisions.NOTE_LIMIT], now=now
        )
        text = decisions.ACTIONS[action].said
    return _respond(request, outcomes, text, now=now)


def _respond(
    request: Any, outcomes: list[decisions.DecisionNotice], text: str, *, now: datetime.datetime
) -> HttpResponse:
    """Lead to the next one; the strip says what was done and take it back, the refusals say what was not."""
    done = [outcome for outcome in outcomes if not outcome.refusal]
    refused = [outcome for outcome in outcomes if outcome.refusal]
    if done:
        ids = [str(outcome.conflict_id) for outcome in done]
        _offer_undo(request, ids, text, along=_superseded_along(request, ids, now=now))
    if refused:
        return page(request, refused[0].conflict_id, status=409, refused=refused, tried=len(outcomes))
    return _redirect_to_next(request)


def _superseded_along(request: Any, ids: Sequence[str], *, now: datetime.datetime) -> int:
    """Return how many others the decisions on these conflicts, made now, took out of the queue."""
    with access.enter(request.principal, why="console"):
        over = waiting(request.principal, status="resolved").filter(resolution=Resolution.OBSOLETE, resolved_at=now)
        gone = over.filter(newcomer__status=Status.SUPERSEDED).exclude(id__in=ids)
        return int(gone.values("newcomer").distinct().count())


def _offer_undo(request: Any, ids: list[str], text: str, **more: Any) -> None:
    """The strip; `skipped`: nothing was decided."""
    replace_strip(request, REVIEW, {"ids": ids, "said": text, "count": len(ids), **more})


def _redirect_to_next(request: Any) -> HttpResponse:
    """To the conflict that stood below the decided one, while it waits; else to the first."""
    try:
        following = uuid.UUID(request.POST.get("following", ""))
    except ValueError:
        following = None
    with access.enter(request.principal, why="console"):
        waits = following and waiting(request.principal).filter(id=following).exists()
    there = reverse("console:conflict", args=[following]) if waits else reverse("console:review")
    return HttpResponseRedirect(there + _query(request), status=303)


def _parse_seen(request: Any) -> list[tuple[uuid.UUID, int]]:
    """The ids and revisions that the form carries: of the opened conflict, of the chosen rows, or of a source."""
    try:
        pairs = [text.partition(":") for value in request.POST.getlist("item") for text in value.split()]
        found = [(uuid.UUID(conflict_id), int(revision)) for conflict_id, _, revision in pairs]
    except ValueError as error:
        raise Http404 from error
    if not found:
        raise Http404
    return found


def _skip(request: Any, seen: list[tuple[uuid.UUID, int]]) -> HttpResponse:
    """Put it to the end of the queue, for this person."""
    skipped = str(seen[0][0])
    request.session[SKIPPED] = list(dict.fromkeys([*request.session.get(SKIPPED, []), skipped]))[-SKIPPED_MOST:]
    _offer_undo(request, [skipped], "Skipped", skipped=True)
    return _redirect_to_next(request)


def _skipped(request: Any) -> list[uuid.UUID]:
    return [uuid.UUID(text) for text in request.session.get(SKIPPED, [])]


@takes_form
@member
def take_back(request: Any) -> HttpResponse:
    """Take back the last decision, or all of the last lot; each that can't be says why. A skip counts as one."""
    request.principal.require(Verb.REVIEW)
    strip, now = request.session.get(REVIEW), timezone.now()
    withdraw(request)
    if not strip:
        return HttpResponseRedirect(reverse("console:review") + _query(request), status=303)
    ids = [uuid.UUID(text) for text in strip["ids"]]
    if strip.get("skipped"):
        request.session[SKIPPED] = [text for text in request.session.get(SKIPPED, []) if text not in strip["ids"]]
    else:
        outcomes = decisions.undo_each(request.principal, ids, now=now)
        if refused := [outcome for outcome in outcomes if outcome.refusal]:
            return page(request, refused[0].conflict_id, status=409, refused=refused, tried=len(outcomes))
    return HttpResponseRedirect(reverse("console:conflict", args=[ids[0]]) + _query(request), status=303)


@takes_form
@member
def dismiss(request: Any) -> HttpResponse:
    """Take the undo strip away; what it names can still be undone on the conflict's own page."""
    withdraw(request)
    return HttpResponseRedirect(reverse("console:review") + _query(request), status=303)


@takes_form
@member
def reopen(request: Any, conflict_id: uuid.UUID) -> HttpResponse:
    """Take back the decision on one conflict, from its own page or from the list of what was settled."""
    request.principal.require(Verb.REVIEW)
    (outcomes,) = decisions.undo_each(request.principal, [conflict_id], now=timezone.now())
    if outcomes.refusal:
        return page(request, conflict_id, status=409, refused=[outcomes], tried=1)
    withdraw(request)
    its_own = reverse("console:conflict", args=[conflict_id])
    return HttpResponseRedirect(_list(request, lately=True) if "settled" in request.POST else its_own, status=303)
