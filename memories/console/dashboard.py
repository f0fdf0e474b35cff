"""/: what needs you, then how the memory does."""

from typing import Any

from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import demo
from memories.console.auth import member
from memories.console.checklist import HIDDEN, steps
from memories.console.form_addresses import takes_form
from memories.console.overview import overview
from memories.console.undo_strip import offer_undo
from memories.models.enums import Verb


@require_safe
@never_cache
@member
def dashboard(request: Any) -> HttpResponse:
    """Return the page."""
    now = timezone.now()
    context = {
        "shown": overview(request.principal, now=now),
        "steps": steps(request),
        "may_act": Verb.ADMIN in request.principal.verbs,
        "story": demo.TOUR,
        "now": now,
    }
    return render(request, "console/dashboard.html", context)


@takes_form
@member
def hide(request: Any) -> HttpResponse:
    """Put the checklist away for this person, or show it again."""
    here = reverse("console:dashboard")
    request.session[HIDDEN] = request.POST.get("show") != "yes"
    offer_undo(request, "The first steps are hidden", request.path, there=here, show="yes")
    return HttpResponseRedirect(here, status=303)
