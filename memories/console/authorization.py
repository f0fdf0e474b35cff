"""/oauth/authorize: a person is asked what a client may do, and the client is told (RFC 6749, 4.1)."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from memories.access import Principal, authorizations, client_documents, oauth_clients
from memories.access.oauth_clients import OAuthClient
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.snippets import server_url

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # SHA-256 in base64 (RFC 7636, 4.2)
AGENT = "assistant"  # whose memory it is, unless the person says otherwise
NOT_CONNECTED = "This link can’t be followed"


class BadAuthorization(Exception):
    """What a client asks for, in the words of RFC 6749, 4.1.2.1: an error and a sentence."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A client's wish: which verbs, proven by which challenge, and where the answer is sent."""

    client: OAuthClient
    redirect_uri: str
    state: str
    challenge: str
    verbs: list[str]

    @property
    def host(self) -> str:
        """Where the answer goes, for people to read."""
        parts = urlsplit(self.redirect_uri)
        if parts.scheme == "http":  # which is of this machine alone
            return f"a program on this computer ({parts.netloc})"
        return parts.netloc if parts.scheme == "https" else f"the application that opens {parts.scheme}: links"

    def answer(self, site: str, **told: str) -> str:
        """Return the address that tells the client: a code, or an error."""
        parts = urlsplit(self.redirect_uri)
        query = urlencode({**told, **({"state": self.state} if self.state else {}), "iss": site})
        return parts._replace(query=f"{parts.query}&{query}" if parts.query else query).geturl()


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
@sensitive_variables("code")
def authorize(request: Any) -> HttpResponse:
    """Ask the person, or tell the client what they said."""
    client, refusal = run_action(lambda: _client(request.GET.get("client_id", "")))
    if client is None:
        return _stop(request, refusal or Refusal(NOT_CONNECTED, "This server does not know what sent you here."))
    only = client.redirect_uris[0] if len(client.redirect_uris) == 1 else ""
    redirect_uri = request.GET.get("redirect_uri") or only
    if not client.takes(redirect_uri):
        return _stop(request, Refusal(NOT_CONNECTED, "It wants the answer at an address that it never registered."))
    site, state = oauth_clients.canonical(server_url(request)), request.GET.get("state", "")
    try:
        asked = AuthorizationRequest(client, redirect_uri, state, *_wish(request, client, f"{site}/mcp"))
    except BadAuthorization as error:
        asked, why = AuthorizationRequest(client, redirect_uri, state, "", []), str(error)
        return _tell(request, asked, asked.answer(site, error=error.error, error_description=why), why=why)
    return _decide(request, asked, site) if request.method == "POST" else _ask(request, asked)


def _client(client_id: str) -> OAuthClient | None:
    """Return who asks. Raise BadClient where it can't be read what it says of itself."""
    if client_id.startswith("https://"):
        return client_documents.read_client(client_id)
    return oauth_clients.find_client(client_id)


def _decide(request: Any, asked: AuthorizationRequest, site: str) -> HttpResponse:
    if request.POST.get("decision") != "allow":
        return _tell(request, asked, asked.answer(site, error="access_denied", error_description="The person said no."))
    given = {"namespaces": request.POST.get("namespaces", "").split(), "verbs": request.POST.getlist("verbs")}
    if not set(given["verbs"]) <= set(_verbs(request.principal, asked)):
        return _ask(request, asked, Refusal("Nothing was allowed", "That is more than was asked for."))
    sent = {
        "redirect_uri": request.GET.get("redirect_uri", ""),
        "challenge": asked.challenge,
        "resource": f"{site}/mcp",
    }
    code, refusal = run_action(lambda: authorizations.consent(request.principal, asked.client, **sent, **given))
    if code is None:
        return _ask(request, asked, refusal)
    return _tell(request, asked, asked.answer(site, code=code), is_allowed=True)


def _wish(request: Any, client: OAuthClient, ours: str) -> tuple[str, list[str]]:
    """Return the challenge and the verbs. Raise BadAuthorization."""
    told = request.GET
    if told.get("response_type") != "code":
        raise BadAuthorization("unsupported_response_type", "response_type has to be code.")
    challenge = told.get("code_challenge", "")
    if told.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(challenge):
        raise BadAuthorization("invalid_request", "Send a code_challenge, made by S256.")
    if any(oauth_clients.is_other(resource, ours) for resource in told.getlist("resource") if resource):
        raise BadAuthorization("invalid_target", f"The resource here is {ours}.")
    asked = oauth_clients.known_scopes(told.get("scope", "").split()) if told.get("scope") else client.scopes
    verbs = [verb for verb in asked if verb in client.scopes]
    if not verbs:
        raise BadAuthorization("invalid_scope", f"This client registered for {' '.join(client.scopes)}.")
    return challenge, verbs


def _verbs(principal: Principal, asked: AuthorizationRequest) -> list[str]:
    """Return what may be allowed: what was asked for, as far as the person may do it."""
    return [verb for verb in asked.verbs if verb in principal.verbs]


def _ask(request: Any, asked: AuthorizationRequest, refusal: Refusal | None = None) -> HttpResponse:
    project, may = request.principal.project, _verbs(request.principal, asked)
    others = request.GET.copy()
    context = {
        "asked": asked,
        "project": project,
        "others": [(name, _with(others, name)) for name in request.projects if name != project],
        "verbs": [(verb, verb in may) for verb in asked.verbs],
        "namespaces": request.POST.get("namespaces", f"{project}:{AGENT}"),
        "days": authorizations.REFRESH_LIFE.days,
        "refusal": refusal,
    }
    return render(request, "console/authorize.html", context, status=400 if refusal else 200)


def _with(query: Any, project: str) -> str:
    query["project"] = project
    return f"?{query.urlencode()}"


def _tell(
    request: Any, asked: AuthorizationRequest, answer: str, *, is_allowed: bool = False, why: str = ""
) -> HttpResponse:
    """Lead back to the client by a page: browsers would not follow a form to another site, or to an application.

    It goes by itself only after the person decided: else any link to this server would lead wherever it says.
    """
    context = {"asked": asked, "answer": answer, "is_allowed": is_allowed, "why": why}
    return render(request, "console/authorized.html", context)


def _stop(request: Any, refusal: Refusal) -> HttpResponse:
    """Tell the person alone: nobody knows whether the address to answer is the client's."""
    return render(request, "console/authorized.html", {"refusal": refusal}, status=400)
