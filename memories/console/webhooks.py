"""/webhooks/: where events are sent to, how that goes, and making, stopping and deleting one."""

import uuid
from typing import Any

from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from conflicts.events import Happening
from memories import access, webhooks
from memories.console import flash
from memories.console.auth import member
from memories.console.errors import Refusal, error_sentence, run_action
from memories.console.form_addresses import takes_form
from memories.console.namespaces import names
from memories.console.pagination import page_of
from memories.console.snippets import get_curl, server_url
from memories.console.undo_strip import offer_undo, show_done
from memories.models.enums import Verb
from memories.webhooks import BadUrl, WebhookDraft

LONGEST = 2000
REFUSED = "No webhook was made"
EVENTS = {
    Happening.RECALL_NOTICE: "an answer carried what does not hold any more",
    Happening.SUPERSEDE: "a memory was replaced",
    Happening.CONFLICT_PENDING: "a conflict waits for a person",
    Happening.CONFLICT_RESOLVED: "a conflict was settled",
    Happening.DISPUTE: "a memory was disputed",
    Happening.CORROBORATE: "a memory was confirmed",
    Happening.CONSOLIDATE: "a consolidation ran",
    Happening.ERASE: "something was forgotten",
}


@require_safe
@never_cache
@member
def everything(request: Any) -> HttpResponse:
    """Return the webhooks, and the form to make one."""
    request.principal.require(Verb.ADMIN)
    return _page(request)


def _page(request: Any, refusal: Refusal | None = None) -> HttpResponse:
    principal = request.principal
    with access.enter(principal, why="console"):
        page = page_of(webhooks.webhooks_of(principal), request.GET, of="webhooks")
    ticked = request.POST.getlist("kinds") if "url" in request.POST else [Happening.RECALL_NOTICE]
    context = {
        "rows": page.rows,
        "older": page.older,
        "events": [(str(kind), said, kind in ticked) for kind, said in EVENTS.items()],
        "names": names(principal),
        "kept": request.POST,
        **flash.pop_message(request),
        "refusal": refusal,
        "now": timezone.now(),
        "curls": [("This list", get_curl(server_url(request), "/api/v1/webhooks"))],
    }
    return render(request, "console/webhooks.html", context, status=409 if refusal else 200)


@takes_form
@never_cache
@member
@sensitive_variables("made")
def make(request: Any) -> HttpResponse:
    """Make a webhook; its secret is shown on the next page and never again."""
    principal, form = request.principal, request.POST
    principal.require(Verb.ADMIN)
    draft = WebhookDraft(form.get("url", "").strip(), form.getlist("kinds"), form.get("namespace", "") or None)
    if (draft.namespace and draft.namespace not in names(principal)) or not set(draft.kinds) <= set(EVENTS):
        raise Http404
    if why := _fault(draft):
        return _page(request, Refusal(REFUSED, why))
    made, refusal = run_action(lambda: webhooks.create_webhook(principal, draft, now=timezone.now()))
    if made is None:
        return _page(request, refusal)
    response = HttpResponseRedirect(reverse("console:webhooks"), status=303)
    flash.add_message(request, response, {"secret": webhooks.secret_of(made), "address": made.url})
    return response


def _fault(draft: WebhookDraft) -> str:
    """Return why a draft can't be taken; empty for one that can."""
    if not draft.kinds:
        return "Tick at least one event."
    if len(draft.url) > LONGEST or "\0" in draft.url:
        return f"An address has at most {LONGEST:,} characters."
    try:
        webhooks.check_url(draft.url)
    except BadUrl as error:
        return error_sentence(str(error))
    return ""


@takes_form
@member
def switch(request: Any, webhook_id: uuid.UUID) -> HttpResponse:
    """Stop a webhook, or let it go on where it stopped."""
    request.principal.require(Verb.ADMIN)
    wanted = request.POST.get("enabled", "")
    if wanted not in ("yes", "no"):
        raise Http404
    webhooks.set_enabled(request.principal, webhook_id, enabled=wanted == "yes", now=timezone.now())
    here, back = reverse("console:webhooks"), "no" if wanted == "yes" else "yes"
    said = "The webhook is on" if wanted == "yes" else "The webhook is off"
    offer_undo(request, said, request.path, there=here, enabled=back)
    return HttpResponseRedirect(here, status=303)


@takes_form
@member
def delete(request: Any, webhook_id: uuid.UUID) -> HttpResponse:
    """Delete a webhook, once that was ticked."""
    request.principal.require(Verb.ADMIN)
    if request.POST.get("confirm") != "yes":
        return _page(request, Refusal("Nothing was deleted", "Tick that its receiver hears nothing any more."))
    webhooks.delete_webhook(request.principal, webhook_id)
    here = reverse("console:webhooks")
    show_done(request, "The webhook is deleted", there=here, more="That can’t be undone.")
    return HttpResponseRedirect(here, status=303)
