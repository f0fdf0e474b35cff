"""/containments/: what a key, an owner, a source or a text brought in, looked at, set aside and taken back."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from conflicts.resolution import CannotUndo
from memories import access, containment
from memories.access import NotFound, Principal
from memories.console.auth import member
from memories.console.containment_form import GroundForm, choices, ground_of, read_form
from memories.console.containment_report import count_of, grounds_of, report_of
from memories.console.errors import Refusal, error_sentence, run_action
from memories.console.form_addresses import takes_form
from memories.console.pagination import page_of
from memories.console.review_items import names_of
from memories.console.snippets import action_curl, get_curl, server_url
from memories.console.undo_strip import offer_undo, show_done
from memories.containment import ContainmentGround
from memories.models import Containment, Fragment
from memories.models.enums import Verb

API = "/api/v1/containments"
BODY = {"key": "key_id", "owner": "owner", "source": "source_id", "content": "content"}
IN_THE_WAY = 20  # memories that a refused undo names


@require_safe
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return the form and the containments, newest first."""
    request.principal.require(Verb.ADMIN)
    return _list_page(request, read_form(request.GET))


def _list_page(request: Any, form: GroundForm, refusal: Refusal | None = None) -> HttpResponse:
    principal = request.principal
    with access.enter(principal, why="console"):
        page = page_of(containment.containments(principal), request.GET, of="containments", by="applied_at")
        names = names_of(principal, [row.applied_by for row in page.rows])
        applied_by = [names.get(row.applied_by, "") for row in page.rows]
        context = {
            **choices(principal, form),
            "rows": list(zip(page.rows, grounds_of(principal, page.rows), applied_by, strict=True)),
            "older": page.older,
            "refusal": refusal,
            "now": timezone.now(),
            "curls": [("This list", get_curl(server_url(request), API))],
        }
    return render(request, "console/containments.html", context, status=409 if refusal else 200)


@takes_form
@never_cache
@member
def look(request: Any) -> HttpResponse:
    """Return what the form would set aside; nothing changes."""
    request.principal.require(Verb.ADMIN)
    form = read_form(request.POST)
    ground = ground_of(request.principal, form)
    return _list_page(request, form, ground) if isinstance(ground, Refusal) else _foreseen_page(request, form, ground)


def _foreseen_page(
    request: Any, form: GroundForm, ground: ContainmentGround, refusal: Refusal | None = None
) -> HttpResponse:
    principal, now = request.principal, timezone.now()
    foreseen, refused = run_action(lambda: containment.preview(principal, ground, now=now))
    if foreseen is None:
        return _list_page(request, form, refused)
    row = Containment(kind=ground.kind, target_id=ground.target_id, since=ground.since)
    body = {BODY[form.by]: form.named, "expected_count": count_of(foreseen)}
    if ground.since:
        body["since"] = ground.since.isoformat()
    with access.enter(principal, why="console"):
        (words,) = grounds_of(principal, [row], said=form.named)
        context = {
            "form": form,
            "ground": words,
            "report": report_of(principal, foreseen),
            "refusal": refusal,
            "now": now,
            "curls": [("Set these aside", action_curl(server_url(request), API, body))],
        }
    return render(request, "console/containment.html", context, status=409 if refusal else 200)


@takes_form
@never_cache
@member
def apply(request: Any) -> HttpResponse:
    """Set aside what was looked at, if it still is as many memories."""
    principal = request.principal
    principal.require(Verb.ADMIN)
    form, expected = read_form(request.POST), request.POST.get("expected_count", "")
    if not (expected.isascii() and expected.isdigit() and len(expected) < 10):
        raise Http404
    ground = ground_of(principal, form)
    if isinstance(ground, Refusal):
        return _list_page(request, form, ground)
    wish: dict[str, Any] = {"note": form.note, "expected": int(expected)}
    row, refusal = run_action(lambda: containment.contain(principal, ground, now=timezone.now(), **wish))
    if row is None:
        return _foreseen_page(request, form, ground, refusal)
    there = reverse("console:containment", args=[row.id])
    said = f"{row.written} {'memory is' if row.written == 1 else 'memories are'} set aside"
    back = reverse("console:containment-undo", args=[row.id])
    offer_undo(request, said, back, there=there, label="Take it back", confirm="yes")
    return HttpResponseRedirect(there, status=303)


@require_safe
@never_cache
@member
def one(request: Any, containment_id: uuid.UUID) -> HttpResponse:
    """Return a containment as it was applied, and who took it back."""
    return _page(request, containment_id)


def _page(
    request: Any, containment_id: uuid.UUID, refusal: Refusal | None = None, in_the_way: Sequence[str] = ()
) -> HttpResponse:
    principal = request.principal
    with access.enter(principal, why="console"):
        row = _find(principal, containment_id)
        names = names_of(principal, [row.applied_by, row.undone_by])
        (ground,) = grounds_of(principal, [row])
        context: dict[str, Any] = {
            "row": row,
            "ground": ground,
            "applied_by": names.get(row.applied_by, ""),
            "undone_by": names.get(row.undone_by, ""),
            "report": report_of(principal, row.report),
            "refusal": refusal,
            "in_the_way": Fragment.objects.within(principal.project_id).filter(id__in=in_the_way[:IN_THE_WAY]),
            "now": timezone.now(),
        }
        base, path = server_url(request), f"{API}/{row.id}"
        context["curls"] = [("This containment", get_curl(base, path))]
        if not row.undone_at:
            context["curls"] += [("Take it back", action_curl(base, f"{path}/undo"))]
        return render(request, "console/containment.html", context, status=409 if refusal else 200)


def _find(principal: Principal, containment_id: uuid.UUID) -> Containment:
    row: Containment | None = containment.containments(principal).filter(id=containment_id).first()
    if row is None:
        raise NotFound("containment")
    return row


@takes_form
@never_cache
@member
def take_back(request: Any, containment_id: uuid.UUID) -> HttpResponse:
    """Take a containment back, wholly, or tell which memories stand in the way."""
    request.principal.require(Verb.ADMIN)
    with access.enter(request.principal, why="console"):
        _find(request.principal, containment_id)
    if request.POST.get("confirm") != "yes":
        refusal = Refusal("Nothing was taken back", "Tick that its memories and keys shall count again.")
        return _page(request, containment_id, refusal)
    try:
        containment.undo(request.principal, containment_id, now=timezone.now())
    except CannotUndo as error:
        said = " ".join(error_sentence(text) for text in (error.why, error.then) if text)
        return _page(request, containment_id, Refusal(error.title, said), error.memories)
    show_done(request, "The containment is taken back", there=reverse("console:containment", args=[containment_id]))
    return HttpResponseRedirect(reverse("console:containment", args=[containment_id]), status=303)
