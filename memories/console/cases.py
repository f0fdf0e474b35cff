"""/cases/: the review by question: every value of a key on one card, settled and taken back at once."""

import datetime
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any
from urllib.parse import quote, urlencode

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from conflicts.enums import Keep
from conflicts.resolution import AlreadyResolved, undo_all
from conflicts.resolution.case_decisions import CLEARED_AT_ONCE, CaseDecision, Typed, clear, settle_case, undo_case
from conflicts.resolution.case_groups import GROUPS, CaseGroup, grouped
from conflicts.resolution.cases import (
    CaseFilter,
    CaseKey,
    case_of,
    cases_of,
    listed,
    questions,
)
from memories import access, ingest
from memories.access import Principal
from memories.console.auth import member
from memories.console.decisions import NOTE_LIMIT, already_decided, read_typed
from memories.console.errors import Refusal, run_action
from memories.console.form_addresses import takes_form
from memories.console.plan_steps import page_number
from memories.console.review_items import names_of
from memories.console.snippets import KEY, action_curl, server_url
from memories.console.undo_strip import offer_undo, show_done
from memories.models.enums import Verb

PAGE = 10
TOLD = 8  # groups of each kind that the page names
ORDERS = {"oldest": ("since", "key"), "newest": ("-last_at", "-key"), "most": ("-weight", "-key")}
LABELS = {"oldest": "oldest first", "newest": "newest first", "most": "most challengers first"}
KEEPS = {Keep.PAIR: "all at once", Keep.PERIOD: "one after the other", Keep.PREDICATE: "many, from now on"}
CONDITIONS = ("namespace", "subject", "predicate", "source", "owner", "pattern")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cases the address asks for, in which order, on which page."""

    conditions: Mapping[str, str]
    sort: str
    page: int

    @property
    def filter(self) -> CaseFilter:
        """As the room takes it. Raise Http404 for an owner that is no id."""
        found: dict[str, Any] = dict(self.conditions)
        try:
            found |= {"owner": uuid.UUID(found["owner"])} if "owner" in found else {}
        except ValueError as error:
            raise Http404 from error
        return CaseFilter(**found)

    def query(self, **more: str) -> str:
        """Return the same as an address carries it, with other conditions, from the first page on."""
        found = urlencode({**replace(self, page=1).fields, **more})
        return f"?{found}" if found else ""

    @property
    def fields(self) -> dict[str, str]:
        """The same as a form carries it."""
        sort = {} if self.sort == "oldest" else {"sort": self.sort}
        return {**self.conditions, **sort, **({"page": str(self.page)} if self.page > 1 else {})}

    @property
    def here(self) -> str:
        """The same as an address carries it, with its page."""
        return self.query(**self.fields)

    def without(self, name: str) -> str:
        """Return the same without one condition."""
        return replace(self, conditions={by: text for by, text in self.conditions.items() if by != name}).query()


def _asked(values: Any) -> Asked:
    conditions = {name: text for name in CONDITIONS if (text := values.get(name, "").strip())}
    sort = values.get("sort", "") or "oldest"
    if sort not in ORDERS or any("\0" in text or len(text) > 255 for text in conditions.values()):
        raise Http404
    return Asked(conditions, sort, page_number(values.get("page", "")))


@require_safe
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return what waits, by question."""
    return _list_page(request, _asked(request.GET))


def _list_page(request: Any, asked: Asked, *, refusal: Refusal | None = None) -> HttpResponse:
    principal = request.principal
    counts = asked.conditions and Verb.REVIEW in principal.verbs
    matched = clear(principal, asked.filter, now=timezone.now(), dry_run=True).matched if counts else 0
    with access.enter(principal, why="console"):
        waiting = questions(principal, asked.filter)
        rows = listed(waiting).order_by(*ORDERS[asked.sort])
        left = rows.count()
        pages = max(1, -(-left // PAGE))
        asked = replace(asked, page=min(asked.page, pages))  # a page that is gone is the last there is
        start = (asked.page - 1) * PAGE
        keys = [CaseKey.parse(row.key) for row in rows[start : start + PAGE]]
        context = {
            **_context(request, cases_of(principal, keys), asked, refusal=refusal),
            "orders": LABELS.items(),
            "left": left,
            "pages": pages,
            "earlier": asked.query(page=str(asked.page - 1)),
            "later": asked.query(page=str(asked.page + 1)),
            "groups": _groups(principal, waiting, asked),
            "chips": _chips(principal, asked),
            "matched": matched,
            "most": CLEARED_AT_ONCE,
            "curl": f"curl '{server_url(request)}/api/v1/cases{asked.query()}' {KEY}",
        }
    return render(request, "console/cases.html", context, status=409 if refusal else 200)


def _groups(principal: Principal, waiting: Any, asked: Asked) -> list[tuple[str, list[tuple[CaseGroup, str]]]]:
    """Return by what what waits can be narrowed down, each with its address; nothing where all of it is one."""
    found = []
    for by in GROUPS:
        if by in asked.conditions:
            continue
        groups = [one for one in grouped(principal, waiting, by) if one.id]
        if len(groups) > 1:
            found.append((by, [(one, asked.query(**{by: one.id})) for one in groups[:TOLD]]))
    return found


def _chips(principal: Principal, asked: Asked) -> list[tuple[str, str, str]]:
    """Return the conditions, each as people read it, with the address without it."""
    owner = asked.filter.owner
    names = names_of(principal, [owner])
    shown = dict(asked.conditions) | ({"owner": names[owner]} if owner in names else {})
    return [("text" if by == "pattern" else by, text, asked.without(by)) for by, text in shown.items()]


def _context(request: Any, cases: list[Any], asked: Asked, *, refusal: Refusal | None = None) -> dict[str, Any]:
    return {
        "asked": asked,
        "cases": cases,
        "followed": list(zip_longest(cases, cases[1:])),
        "may_act": Verb.REVIEW in request.principal.verbs,
        "keeps": KEEPS,
        "refusal": refusal,
        "kept": request.POST,
        "ticked": request.POST.getlist("choose"),
        "now": timezone.now(),
    }


@require_safe
@never_cache
@member
def case(request: Any, case_id: str) -> HttpResponse:
    """Return one case, also one that is settled."""
    return _case_page(request, case_id)


def _case_page(request: Any, case_id: str, *, refusal: Refusal | None = None) -> HttpResponse:
    principal, asked = request.principal, _asked(request.POST or request.GET)
    with access.enter(principal, why="console"):
        found = case_of(principal, case_id)
        context = _context(request, [found], asked, refusal=refusal)
    base, path = server_url(request), f"/api/v1/cases/{found.id}"
    if found.waiting and found.values:
        body = {"choose": [found.values[0].id], "revision": found.revision}
        context["curls"] = [("Choose the first", action_curl(base, f"{path}/resolve", body))]
    context |= {"single": True, "curl": f"curl '{base}{path}' {KEY}"}
    return render(request, "console/cases.html", context, status=409 if refusal else 200)


@takes_form
@member
def settle(request: Any, case_id: str) -> HttpResponse:
    """Settle a case for the values that the form names, or for what was typed."""
    principal, form, now = request.principal, request.POST, timezone.now()
    principal.require(Verb.REVIEW)
    keep, note = form.get("keep", "") or Keep.PAIR, form.get("note", "")[:NOTE_LIMIT]
    revision = form.get("revision", "")
    if form.get("action") not in ("choose", "type") or keep not in KEEPS or "\0" in note:
        raise Http404
    if not (revision.isascii() and revision.isdigit() and len(revision) < 20):
        raise Http404
    decision = CaseDecision(int(revision), form.getlist("choose"), keep=keep, note=note)

    def act() -> Any:
        if form.get("action") != "type":
            return settle_case(principal, case_id, decision, now=now)
        content, value = read_typed(form)

        def correct(conflict_id: uuid.UUID, settlement: Any, says: Any) -> Any:
            typed = {"content": content, "value": value, "says": says}
            return ingest.corrections.correct(principal, conflict_id, settlement, **typed, now=now)

        return settle_case(principal, case_id, replace(decision, choose=()), now=now, typed=Typed(value, correct))

    def first_or_second() -> Any:
        try:
            return act()
        except AlreadyResolved as error:
            raise AlreadyResolved(_who_was_first(principal, case_id, now=now)) from error

    return _answered(request, case_id, first_or_second, "The case is settled", undo=True)


def _who_was_first(principal: Principal, case_id: str, *, now: datetime.datetime) -> str:
    with access.enter(principal, why="console"):
        ruling = case_of(principal, case_id).ruling
        names = names_of(principal, [ruling.decided_by] if ruling else [])
    if ruling is None:
        return "There is nothing left to decide."
    return already_decided(names.get(ruling.decided_by, "Somebody"), "settled", ruling.decided_at, now)


@takes_form
@member
def take_back(request: Any, case_id: str) -> HttpResponse:
    """Take the last decision of a case back, wholly."""
    request.principal.require(Verb.REVIEW)
    act = partial(undo_case, request.principal, case_id, now=timezone.now())
    return _answered(request, case_id, act, "The case waits again", undo=False)


def _answered(request: Any, case_id: str, act: Callable[[], Any], said: str, *, undo: bool) -> HttpResponse:
    _, refusal = run_action(act)
    if refusal:
        return _case_page(request, case_id, refusal=refusal)
    asked = _asked(request.POST)
    there = reverse("console:case", args=[case_id]) + asked.here
    if undo:
        offer_undo(request, said, reverse("console:case-undo", args=[case_id]), there=there, **asked.fields)
        following = request.POST.get("following", "")
        place = f"#case-{quote(following)}" if following else "#cases"  # where the focus goes on
        return HttpResponseRedirect(reverse("console:cases") + asked.here + place, status=303)
    show_done(request, said, there=there)
    return HttpResponseRedirect(there, status=303)


@takes_form
@member
def clear_away(request: Any) -> HttpResponse:
    """Reject every challenger that meets the conditions, as many as were counted on the page, up to CLEARED_AT_ONCE."""
    principal, now, asked = request.principal, timezone.now(), _asked(request.POST)
    principal.require(Verb.REVIEW)
    if asked.filter == CaseFilter():
        raise Http404
    counted = clear(principal, asked.filter, now=now, dry_run=True).matched
    if str(counted) != request.POST.get("counted", ""):
        return _list_page(request, asked, refusal=Refusal("It changed while you looked", f"{counted} match now."))
    found = clear(principal, asked.filter, now=now, note=request.POST.get("note", "")[:NOTE_LIMIT].replace("\0", ""))
    done = [str(one.conflict_id) for one in found.outcomes if not one.refused]
    there = reverse("console:cases") + asked.query()
    if done:
        said = f"{len(done)} challenger{'' if len(done) == 1 else 's'} rejected"
        fields = {"ids": " ".join(done), **asked.fields}
        offer_undo(request, said, reverse("console:cases-unclear"), there=there, **fields)
    if found.refused:
        why = "; ".join(dict.fromkeys(str(one.refused) for one in found.refused))
        return _list_page(request, asked, refusal=Refusal(f"{len(found.refused)} could not be rejected", why))
    return HttpResponseRedirect(reverse("console:cases"), status=303)


@takes_form
@member
def take_clearing_back(request: Any) -> HttpResponse:
    """Take a clearing back, each decision for itself."""
    request.principal.require(Verb.REVIEW)
    try:
        ids = [uuid.UUID(text) for text in request.POST.get("ids", "").split()][:CLEARED_AT_ONCE]
    except ValueError as error:
        raise Http404 from error
    outcomes, asked = undo_all(request.principal, ids, now=timezone.now()), _asked(request.POST)
    refused = [one for one in outcomes if one.refused]
    there = reverse("console:cases") + asked.here
    show_done(request, f"{len(outcomes) - len(refused)} wait again", there=there)
    if refused:
        why = "; ".join(dict.fromkeys(str(one.refused) for one in refused))
        return _list_page(request, asked, refusal=Refusal(f"{len(refused)} could not be taken back", why))
    return HttpResponseRedirect(there, status=303)
