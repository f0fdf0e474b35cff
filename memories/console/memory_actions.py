"""What a person does to one memory: keep it, doubt it, agree, correct it, put it away, forget it."""

import uuid
from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from conflicts.votes import vote
from memories import access, ingest
from memories.access import NotFound
from memories.console.auth import member
from memories.console.edits import Edit, edit_of, former_of
from memories.console.errors import Refusal, run_action
from memories.console.explorer import explorer_page
from memories.console.explorer_query import ExplorerQuery
from memories.console.form_addresses import takes_form
from memories.console.undo_strip import held_in, offer_undo, show_done, withdraw
from memories.erasure import forget
from memories.models import Fragment
from memories.models.enums import Verb

FLAGS = {"pin": "is_pinned", "unpin": "is_pinned", "anchor": "is_anchor", "unanchor": "is_anchor"}
# What the strip says of an action, and the action that takes it back.
INVERSE = {
    "pin": ("Pinned", "unpin"),
    "unpin": ("Unpinned", "pin"),
    "anchor": ("Made an anchor", "unanchor"),
    "unanchor": ("No anchor any more", "anchor"),
    "archive": ("Archived", "unarchive"),
    "unarchive": ("Brought back from the archive", "archive"),
    "edit": ("Edited", "revert"),
}
VOTES = {"reinforce": "Reinforced", "dispute": "Disputed", "corroborate": "Corroborated"}


@takes_form
@member
def act(request: Any, fragment_id: uuid.UUID) -> HttpResponse:
    """Does what the button says, and shows the memory as it is now."""
    principal, action = request.principal, request.POST.get("action", "")
    principal.require(Verb.WRITE)
    row = _see(principal, fragment_id)
    if action == "forget" and request.POST.get("confirm", "").strip() != "forget":
        refusal = Refusal("Nothing was forgotten", "Type forget to erase this memory.")
        return explorer_page(request, fragment_id, refusal=refusal)
    edit = edit_of(principal, row, request.POST) if action == "edit" else Edit()
    if edit.refusal:
        return explorer_page(request, fragment_id, refusal=edit.refusal, shown=edit.shown)
    if action == "edit" and not edit.changes:
        return HttpResponseRedirect(_origin_of(request).url(fragment_id), status=303)
    made, refused = run_action(_deed(request, fragment_id, action, edit.changes))
    if refused:
        return explorer_page(request, fragment_id, refusal=refused)
    if action == "forget":
        show_done(request, "Forgotten", there=reverse("console:backups"), more=held_in(made.backups if made else []))
        return HttpResponseRedirect(_origin_of(request).url(), status=303)
    there = _origin_of(request).url(fragment_id)
    if action == "edit" and edit.alters_kind:
        show_done(
            request,
            "Edited",
            there=there,
            more="Whether it claims something was changed; edit it again to take that back.",
        )
    elif action in INVERSE:
        message, inverse = INVERSE[action]
        texts = {"to": row.revision, "revision": made.fragment.revision} if action == "edit" and made else {}
        offer_undo(request, message, request.get_full_path(), there=there, action=inverse, **texts)
    elif action in VOTES:
        show_done(request, VOTES[action], there=there, more="A vote stands; nobody takes it back.")
    elif action == "revert":
        withdraw(request)
    return HttpResponseRedirect(there, status=303)


def _origin_of(request: Any) -> ExplorerQuery:
    """Return the list, and the tab, that the person came from."""
    several = len(request.projects) > 1
    return ExplorerQuery.of(request.GET, project=request.principal.project if several else "")


def _see(principal: Any, fragment_id: uuid.UUID) -> Fragment:
    """Return the memory. Raise NotFound for what the person does not see."""
    with access.enter(principal, why="console"):
        rows = Fragment.objects.within(principal.project_id).select_related("namespace")
        row: Fragment | None = rows.filter(id=fragment_id).first()
    if row is None or not principal.covers_reading(row.namespace.name):
        raise NotFound("fragment")
    return row


def _deed(request: Any, fragment_id: uuid.UUID, action: str, edited: dict[str, Any]) -> Callable[[], Any]:
    principal, form, now = request.principal, request.POST, timezone.now()
    if action in FLAGS:
        changes: dict[str, Any] = {FLAGS[action]: not action.startswith("un")}
        return lambda: ingest.updates.revise(principal, fragment_id, changes=changes, revision=None, now=now)
    if action in VOTES:
        why = {"reason": form.get("reason", "")[:1000].replace("\0", "")} if action == "dispute" else {}
        return lambda: vote(principal, fragment_id, action, now=now, **why)
    if action == "forget":
        return lambda: forget(principal, fragment_id, now=now)
    if action in ("archive", "unarchive"):
        deed = getattr(ingest.updates, action)
        return lambda: deed(principal, fragment_id, now=now)
    if action in ("edit", "revert"):
        options = edited if action == "edit" else former_of(principal, fragment_id, _number(form.get("to", "")))
        seen = _number(form.get("revision", ""))
        return lambda: ingest.updates.revise(principal, fragment_id, changes=options, revision=seen, now=now)
    raise Http404


def _number(text: str) -> int:
    """Return the number of a revision. Raise Http404."""
    if not (text.isascii() and text.isdigit()):
        raise Http404
    return int(text[:9])
