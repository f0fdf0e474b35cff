"""The strip: what was done last, and the form that takes it back, if that can be. It stays until it is hidden."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse

from memories.console.auth import member
from memories.console.form_addresses import takes_form

# Where the session keeps what was done last: on any page, in the review, among the proposals.
STRIP, REVIEW, PROPOSALS = "undo", "review-undo", "proposals-undo"
TAKEN_BACK = "taken_back"


def offer_undo(request: Any, text: str, url: str, *, there: str, label: str = "Undo", **fields: Any) -> None:
    """Say what was done, beside a form that sends `fields` to `url`; `there` is the page of what it is about.

    The session keeps it: no text of a memory is among the fields. What the strip itself did is not offered again.
    """
    if TAKEN_BACK in request.POST:
        withdraw(request)
        return
    values = {"said": text, "url": url, "there": there, "label": label, "fields": fields}
    replace_strip(request, STRIP, values | {"project": request.principal.project})


def show_done(request: Any, text: str, *, there: str, more: str = "") -> None:
    """Say what was done and can't be taken back; `more` is another sentence, without a memory's text."""
    values = {"said": text, "more": more, "url": "", "there": there}
    replace_strip(request, STRIP, values | {"project": request.principal.project})


def replace_strip(request: Any, name: str, values: Mapping[str, Any]) -> None:
    """Say one thing alone: what was done last."""
    withdraw(request)
    request.session[name] = values


def held_in(backups: Sequence[Mapping[str, Any]]) -> str:
    """Return which backups were made while what is erased was there."""
    if not backups:
        return "No backup holds it."
    days = ", ".join(dict.fromkeys(str(backup["created_at"])[:10] for backup in backups))
    return f"Backups made before still hold it ({days}); a restore leaves it out, and they can be deleted."


def withdraw(request: Any) -> None:
    """Take away what was said of anything that was done before."""
    for name in (STRIP, REVIEW, PROPOSALS):
        request.session.pop(name, None)


@takes_form
@member
def hide(request: Any) -> HttpResponse:
    """Take the strip away for this person; what it names stays done."""
    there = (request.session.get(STRIP) or {}).get("there", reverse("console:dashboard"))
    withdraw(request)
    return HttpResponse() if request.htmx else HttpResponseRedirect(there, status=303)
