"""/namespaces/NAME/comparison/: what a branch believes otherwise than another namespace, to be merged in part."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories.console.auth import member
from memories.console.errors import run_action
from memories.console.namespaces import names
from memories.console.operations import place_of
from memories.console.snippets import get_curl, server_url
from memories.models.enums import Verb
from memories.timeline import compare


@require_safe
@never_cache
@member
def page(request: Any, name: str) -> HttpResponse:
    """Return the keys of which the two believe otherwise, with a tick for each memory that an admin may merge."""
    principal = request.principal
    source = place_of(principal, name)
    others = [one for one in names(principal) if one != source.name]
    other = request.GET.get("other", "") or (others[0] if others else "")
    if other and other not in others:
        raise Http404
    now = timezone.now()
    found, refusal = run_action(lambda: compare(principal, source.name, other, now=now)) if other else ([], None)
    context = {
        "source": source,
        "other": other,
        "others": others,
        "keys": found,
        "may_act": Verb.ADMIN in principal.verbs,
        "refusal": refusal,
        "curls": [
            ("These", get_curl(server_url(request), f"/api/v1/namespaces/{source.name}/comparison", other=other))
        ],
    }
    return render(request, "console/comparison.html", context, status=409 if refusal else 200)
