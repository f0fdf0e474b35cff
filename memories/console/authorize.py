"""/oauth/authorize: a person is asked what a client may do, and the client is told (RFC 6749, 4.1)."""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from memories.access import Principal, authorizations, oauth_clients
from memories.access.oauth_clients import LOOPBACK, SCOPES, OAuthClient
from memories.console.auth import member
from memories.console.errors import Refusal, run_action
from memories.console.snippets import server_url

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # SHA-256 in base64 (RFC 7636, 4.2)
STATE_LIMIT = 2000
AGENT = "assistant"  # whose memory it is, unless the person says otherwise
BAD_REQUEST = "This link can’t be followed"


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
        if parts.hostname in LOOPBACK:
            return f"a program on this computer ({parts.netloc})"
        return parts.netloc if parts.scheme == "https" else f"the application that opens {parts.scheme}: links"

    def answer(self, site: str, **told: str) -> str:
        """Return the address that tells the client: a code, or an error."""
        parts = urlsplit(self.redirect_uri)
        told |= {"state": self.state} if self.state else {}
        return parts._replace(query=urlencode([*parse_qsl(parts.query), *told.items(), ("iss", site)])).geturl()


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@member
@sensitive_variables("code")
def authorize(request: Any) -> HttpResponse:
    """Ask the person, or tell the client what they said."""
    client = oauth_clients.find_client(request.GET.get("client_id", ""))
    if client is None:
        return _stop(request, "The application that sent you here is not known to this server: connect it anew.")
    redirect_uri = request.GET.get("redirect_uri", client.redirect_uris[0] if len(client.redirect_uris) == 1 else "")
    if not client.takes(redirect_uri):
        return _stop(request, "The application wants the answer sent to an address that it never registered.")
    site, state = server_url(request), request.GET.get("state", "")[:STATE_LIMIT]
    try:
        asked = AuthorizationRequest(client, redirect_uri, state, *_wish(request, client, f"{site}/mcp"))
    except BadAuthorization as error:
        asked = AuthorizationRequest(client, redirect_uri, state, "", [])
        return _tell(request, asked, asked.answer(site, error=error.error, error_description=str(error)))
    if request.method != "POST":
        return _ask(request, asked)
    if request.POST.get("decision") != "allow":
        return _tell(request, asked, asked.answer(site, error="access_denied", error_description="The person said no."))
    given = {"namespaces": request.POST.get("namespaces", "").split(), "verbs": request.POST.getlist("verbs")}
    if not set(given["verbs"]) <= set(_verbs(request.principal, asked)):
        return _ask(request, asked, Refusal("Nothing was allowed", "That is more than was asked for."))
    sent = {"redirect_uri": redirect_uri, "challenge": asked.challenge, "resource": f"{site}/mcp"}
    code, refusal = run_action(lambda: authorizations.consent(request.principal, client, **sent, **given))
    return _ask(request, asked, refusal) if code is None else _tell(request, asked, asked.answer(site, code=code))


def _wish(request: Any, client: OAuthClient, ours: str) -> tuple[str, list[str]]:
    """Return the challenge and the verbs. Raise BadAuthorization."""
    told = request.GET
    if told.get("response_type") != "code":
        raise BadAuthorization("unsupported_response_type", "response_type has to be code.")
    challenge = told.get("code_challenge", "")
    if told.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(challenge):
        raise BadAuthorization("invalid_request", "Send a code_challenge, made by S256.")
    if any(resource.rstrip("/") != ours for resource in told.getlist("resource")):
        raise BadAuthorization("invalid_target", f"The resource here is {ours}.")
    verbs = told.get("scope", "").split() or list(client.scopes)
    if not set(verbs) <= set(client.scopes):
        raise BadAuthorization("invalid_scope", f"This client registered for {' '.join(client.scopes)}.")
    return challenge, [verb for verb in SCOPES if verb in verbs]


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


def _tell(request: Any, asked: AuthorizationRequest, answer: str) -> HttpResponse:
    """Lead back to the client by a page: browsers would not follow a form to another site, or to an application."""
    context = {"asked": asked, "answer": answer, "is_allowed": "code=" in urlsplit(answer).query}
    return render(request, "console/authorized.html", context)


def _stop(request: Any, why: str) -> HttpResponse:
    """Tell the person alone: nobody knows whether the address to answer is the client's."""
    return render(request, "console/authorized.html", {"refusal": Refusal(BAD_REQUEST, why)}, status=400)
