"""/connect/: snippets that work as they stand, and whether the first memory has arrived."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from memories import access
from memories.access import Principal, authorizations
from memories.console.auth import member
from memories.console.errors import Refusal
from memories.console.form_addresses import takes_form
from memories.console.snippets import key_command, server_url
from memories.models import Fragment
from memories.models.namespace import FORM

WAYS = {
    "curl": "curl",
    "python": "Python",
    "mcp": "Model Context Protocol",
    "mcp_login": "Model Context Protocol, by logging in instead of a key",
    "openai": "OpenAI client",
    "anthropic": "Anthropic client",
    "langgraph": "LangGraph",
}
# Settings of which one has to name the service that answers.
UPSTREAMS = {
    "openai": ["PROXY_UPSTREAM_URL"],
    "anthropic": ["PROXY_ANTHROPIC_URL", "PROXY_UPSTREAM_URL"],
}


@dataclass(frozen=True, slots=True)
class Snippet:
    """A way to connect: its name, its title, the text to copy."""

    name: str
    title: str
    text: str

    @property
    def missing(self) -> str:
        """The setting without which it is refused, where it is."""
        names = UPSTREAMS.get(self.name, [])
        return names[0] if names and not any(getattr(settings, name) for name in names) else ""

    @property
    def lines(self) -> int:
        """How high the text is."""
        return self.text.count("\n") + 1


def snippets(url: str, *, namespace: str) -> list[Snippet]:
    """Return every way to connect; `url` without a slash at the end. The key is expected in NOVAMEM_KEY."""
    values = {"url": url, "namespace": namespace}
    return [
        Snippet(name, title, render_to_string(f"console/connect/{name}.txt", values).strip())
        for name, title in WAYS.items()
    ]


@require_safe
@never_cache
@member
def connect(request: Any) -> HttpResponse:
    """Return the snippets; for htmx what has arrived."""
    project = request.principal.project
    wanted = typed = request.GET.get("namespace", "").strip() or f"{project}:assistant"
    named = FORM.fullmatch(wanted)
    refusal = None
    if named is None or named[1] != project:
        why = f"A namespace of this project is {project}: and a name of letters, digits, dots and hyphens."
        wanted, refusal = f"{project}:assistant", Refusal("There can be no such namespace", why)
    url = server_url(request)
    context = {
        "namespace": wanted,
        "snippets": snippets(url, namespace=wanted),
        "key_command": key_command(project=project),
        "arrived": _newest(request.principal, wanted),
        "let_in": [] if request.htmx else authorizations.of_person(request.principal, now=timezone.now()),
        "now": timezone.now(),
        "refusal": refusal,
        "typed": typed,
    }
    part = "#arrival" if request.htmx else ""
    return render(request, f"console/connect.html{part}", context, status=400 if refusal else 200)


@takes_form
@never_cache
@member
def withdraw(request: Any, authorization_id: uuid.UUID) -> HttpResponse:
    """Lock out a program that the person let in."""
    authorizations.withdraw(request.principal, authorization_id, now=timezone.now())
    return HttpResponseRedirect(f"{reverse('console:connect')}#let-in", status=303)


def _newest(principal: Principal, name: str) -> Fragment | None:
    with access.enter(principal, why="console"):
        scopes = access.readable_scopes(principal, [name])
        rows = Fragment.objects.within(principal.project_id).filter(namespace__in=scopes)
        newest: Fragment | None = rows.order_by("-created_at", "-id").first()
        return newest
