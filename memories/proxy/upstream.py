"""The service behind the proxy: where the operator said, and nowhere else, whatever a caller names."""

import asyncio
import weakref
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.cookiejar import CookieJar, DefaultCookiePolicy
from itertools import accumulate
from urllib.parse import quote, unquote

import httpx2
import structlog
from django.conf import settings
from django.http import HttpRequest

from memories import spans
from memories.access import Principal
from memories.models.enums import Verb
from memories.providers.http import is_loopback
from memories.proxy.errors import ProxyRefused

CONNECT, SILENCE = 5.0, 600.0  # seconds for a connection; and between two pieces of an answer, as OpenAI's client
TIMEOUT = httpx2.Timeout(SILENCE, connect=CONNECT, pool=CONNECT)
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30.0)
PIECE = 1 << 16
ROUNDS = 5  # as often a path may be percent-encoded
# What belongs to one connection, or to whoever the client talks to.
OF_THE_CONNECTION = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
CREDENTIALS = ("api-key", "x-api-key", "x-goog-api-key")  # in which clients of other services put their keys
NOT_SENT = OF_THE_CONNECTION | {
    *(
        "host",
        "content-length",
        "expect",
        "authorization",
        "proxy-authorization",
        *CREDENTIALS,
        "cookie",
        "accept-encoding",
    ),
    *("forwarded", "via", "x-real-ip", "origin", "referer"),
}
NOT_ANSWERED = OF_THE_CONNECTION | {
    *("server", "date", "set-cookie", "alt-svc", "strict-transport-security", "clear-site-data", "proxy-authenticate"),
    *("content-security-policy", "content-security-policy-report-only"),
}
OURS = "x-novamem-"
UPSTREAM, UPSTREAM_KEY = "X-NovaMem-Upstream", "X-NovaMem-Upstream-Key"
READING = ("GET", "HEAD")
# Methods and paths of what leaves nothing behind in the account that a stranger could list, read or delete.
COMMON = (
    *("GET models", "GET models/*", "HEAD models", "HEAD models/*"),
    *("POST completions", "POST embeddings", "POST moderations", "POST rerank", "POST responses"),
    *("POST messages", "POST messages/count_tokens", "POST responses/input_tokens", "POST responses/compact"),
    *("POST audio/speech", "POST audio/transcriptions", "POST audio/translations"),
    *("POST images/generations", "POST images/edits", "POST images/variations"),
)
log = structlog.get_logger(__name__)
_clients: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, httpx2.AsyncClient]]"
_clients = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a request goes to: the base URL, and the header with the key that opens it."""

    base: str
    credential: dict[str, str]


def target_of(headers: Mapping[str, str], path: str) -> Target:
    """Return the operator's service for a path, or the one of theirs that the caller names where they have names.

    Raise ProxyRefused: 503 without one, 400 for an unknown name, 403 for a key of the caller's own where none may be
    given.
    """
    name = headers.get(UPSTREAM, "").strip() if settings.PROXY_UPSTREAMS else ""
    is_anthropic = path.strip("/").partition("/")[0] == "messages" or "anthropic-version" in headers
    if name and name not in settings.PROXY_UPSTREAMS:
        raise ProxyRefused(400, "unknown_upstream", "No upstream of this server has that name.", param=UPSTREAM)
    if name:
        base, key = settings.PROXY_UPSTREAMS[name], settings.PROXY_UPSTREAM_KEYS.get(name, "")
    elif is_anthropic and settings.PROXY_ANTHROPIC_URL:
        base, key = settings.PROXY_ANTHROPIC_URL, settings.PROXY_ANTHROPIC_KEY
    else:
        base, key, is_anthropic = settings.PROXY_UPSTREAM_URL, settings.PROXY_UPSTREAM_KEY, False
    if not base:
        raise ProxyRefused(503, "no_upstream", "No upstream is configured: set PROXY_UPSTREAM_URL.")
    if own := headers.get(UPSTREAM_KEY, "").strip():
        if not settings.PROXY_CALLER_KEYS:
            raise ProxyRefused(403, "not_permitted", "This server takes no keys for the upstream.", param=UPSTREAM_KEY)
        key = own
    credential = {"x-api-key": key} if is_anthropic else {"Authorization": f"Bearer {key}"}
    return Target(base.rstrip("/"), credential if key else {})


def url_of(base: str, request: HttpRequest, path: str) -> str:
    """Where a request for `/v1/{path}` goes. Raise Refused for a path that would climb out of the upstream's."""
    # A server behind may decode it more often than we do.
    decoded = list(accumulate(range(ROUNDS), lambda plain, _: unquote(plain), initial=path))
    plain = decoded[-1]
    if plain != decoded[-2]:
        raise ProxyRefused(404, "not_found", "There is no such path.")
    # What follows a semicolon is a parameter to some servers, which leave it out: "..;" climbs there.
    if any(part.partition(";")[0] in (".", "..") for part in plain.replace("\\", "/").split("/")):
        raise ProxyRefused(404, "not_found", "There is no such path.")
    query = request.META.get("QUERY_STRING", "")
    return f"{base}/{quote(path, safe='/:@!$&()*+,;=~')}" + (f"?{query}" if query else "")


def require_path(principal: Principal, method: str, path: str) -> None:
    """Raise Refused (403) unless any key may ask this of the upstream, or the grant names it.

    All tenants share the operator's account there: what only computes passes, what reads or changes something kept in
    the account takes a grant, and a change the verb write.
    """
    call = f"{method} {path.strip('/')}"
    if any(fnmatchcase(call, pattern) for pattern in COMMON):
        return
    granted = (pattern if " " in pattern else f"* {pattern}" for pattern in principal.upstream_paths)
    if not any(fnmatchcase(call, pattern) for pattern in granted):
        raise ProxyRefused(403, "path_not_permitted", "This key may not ask that of the upstream: no grant names it.")
    if method not in READING:
        principal.require(Verb.WRITE)


async def ask(request: HttpRequest, path: str, content: bytes | AsyncIterator[bytes] | None) -> httpx2.Response:
    """Return the upstream's answer as soon as its head is there; its body is still to be read, and it is to be closed.

    Raise Refused as `target_of`, and 502 for one that does not answer.
    """
    target = target_of(request.headers, path)
    url, headers = url_of(target.base, request, path), _sent(request.headers, target)
    if isinstance(content, AsyncIterator) and (length := request.headers.get("Content-Length")):
        headers["Content-Length"] = length
    client = _client(trust_env=not is_loopback(url))  # a proxy of the environment is not for one's own machine
    try:
        question = client.build_request(request.method or "GET", url, headers=headers, content=content, timeout=TIMEOUT)
        with spans.span("client", "ask the upstream", {"server.address": question.url.host}):
            answer = await client.send(question, stream=True)
            spans.note({"http.response.status_code": answer.status_code})
        return answer
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        log.warning("upstream_away", error=type(error).__name__)
        raise ProxyRefused(502, "upstream_unreachable", "The upstream can't be reached.") from error


def _sent(headers: Mapping[str, str], target: Target) -> httpx2.Headers:
    """The caller's headers for the upstream: without what is between us and the caller, with the upstream's own key.

    Not packed: what passes has to be read, to be remembered.
    """
    passed = {
        name: value
        for name, value in headers.items()
        if name.lower() not in NOT_SENT and not name.lower().startswith((OURS, "x-forwarded-"))
    }
    passed["Accept-Encoding"] = "identity"
    passed |= target.credential
    return httpx2.Headers(passed, encoding="latin-1")  # byte by byte as they came


def response_headers(headers: httpx2.Headers) -> dict[str, str]:
    """Return the upstream's headers for the caller; none that would speak for this server."""
    return {
        name: value
        for name, value in headers.items()
        if name not in NOT_ANSWERED and not name.startswith((OURS, "access-control-"))
    }


async def response_chunks(request: HttpRequest) -> AsyncIterator[bytes]:
    """Return the body of a request, piece by piece."""
    while piece := request.read(PIECE):
        yield piece


def _client(*, trust_env: bool) -> httpx2.AsyncClient:
    """Return a client of this event loop: connections belong to one."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if trust_env not in clients:
        clients[trust_env] = httpx2.AsyncClient(
            trust_env=trust_env,
            limits=LIMITS,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),  # one client serves all tenants
        )
    return clients[trust_env]


async def close_connections() -> None:
    """Close this event loop's connections."""
    for client in _clients.pop(asyncio.get_running_loop(), {}).values():
        await client.aclose()
