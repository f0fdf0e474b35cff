"""/mcp: the protocol over HTTP, one message a request; no process keeps a session (docs/decisions)."""

import datetime
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import cache
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from django.http import HttpResponse
from django.http.request import split_domain_port, validate_host
from django.utils import timezone
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.formparsers import MultiPartException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection

from memories.mcp import oauth
from memories.mcp.callers import Caller, admit
from memories.mcp.registry import PROMPTS, RESOURCES, TOOLS
from memories.mcp.server import StrictServer, build
from memories.rest.authentication import USER, decoded_user
from memories.rest.problem_details import handler, problem

PATHS = ("/mcp", "/mcp/", *oauth.ANSWERS)
CALLER = "novamem.caller"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


class Door:
    """An ASGI application for /mcp, and what clients ask of OAuth. `running` has to be entered around its use, once."""

    def __init__(self) -> None:
        # Host and Origin are checked below, by the settings that hold for every page.
        self._manager = StreamableHTTPSessionManager(
            _server()._lowlevel_server,
            json_response=True,
            stateless=True,
            max_request_body_size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
        )

        # Browsers ask first, and show a page only what they are told to.
        self._for_pages = CORSMiddleware(
            self._serve,
            allow_origins=["*"] if settings.CORS_ALLOW_ALL_ORIGINS else _origins(),
            allow_methods=["POST"],
            allow_headers=["*"],
            expose_headers=["WWW-Authenticate"],
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        """Around the time in which requests are answered."""
        return self._manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a caller who is known; others get the problem the API would answer."""
        headers = _headers(scope)
        if scope["path"] in oauth.ANSWERS:
            await _authorize(scope, receive, send, host=headers.get("host", ""))
        else:
            await self._for_pages(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        refusal = refused(scope["method"], headers)
        if refusal is None:
            caller = sync_to_async(_admitted, thread_sensitive=False)
            found = await caller(headers, now=timezone.now())
            if isinstance(found, Caller):
                # Read first: the manager would answer for a caller who is too slow.
                replayed = _told_again(await _body(receive), receive)
                await self._manager.handle_request({**scope, CALLER: found}, replayed, send)
                return
            refusal = found
            if refusal.status_code == 401:
                site = oauth.site_of(HTTPConnection(scope))
                refusal["WWW-Authenticate"] = oauth.challenge(site, is_invalid="authorization" in headers)
        await _answer(refusal, send)


def _headers(scope: Scope) -> dict[str, str]:
    """What came twice is joined, as the API's server does."""
    headers = dict[str, str]()
    for name, value in ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]):
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return headers


def _origins() -> list[str]:
    """Return whose pages may call."""
    return [*settings.CORS_ALLOWED_ORIGINS, *settings.CSRF_TRUSTED_ORIGINS]


async def _authorize(scope: Scope, receive: Receive, send: Send, *, host: str) -> None:
    """Answer a client that asks for tokens, or how to get them."""
    methods, answer = oauth.ANSWERS[scope["path"]]
    if not is_ours(host):
        await _answer(_misdirected(), send)
    elif scope["method"] not in methods:
        await _answer(_not_allowed(methods[0]), send)
    else:
        try:
            await answer(scope, receive, send)
        except MultiPartException as error:
            await _answer(problem(400, "malformed", detail=error.message), send)
        except Exception as error:  # noqa: BLE001  # every error has its problem
            await _answer(handler(error, {}), send)


@cache
def _server() -> StrictServer:
    """Return what knows the tools: made once, for it holds nothing of a caller."""
    return build(TOOLS, RESOURCES, PROMPTS, caller_of=_caller_of)


def _caller_of(request: Any) -> Caller:
    caller: Caller = request.scope[CALLER]
    return replace(caller, site=oauth.site_of(request))


async def _body(receive: Receive) -> bytes:
    """Return what was sent; b"" from a caller who left. Raise what `receive` raises."""
    pieces, more = [], True
    while more:
        event = await receive()
        pieces.append(event.get("body", b""))
        more = event.get("more_body", False)
    return b"".join(pieces)


def _told_again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that was read, and then what else comes."""
    left = [body]

    async def again() -> Any:
        return {"type": "http.request", "body": left.pop(), "more_body": False} if left else await receive()

    return again


def refused(method: str, headers: dict[str, str]) -> HttpResponse | None:
    """Why a request is not looked at: a method, a host or a web page's origin that we don't serve; None if it is."""
    if method != "POST":
        return _not_allowed("POST")
    if not is_ours(headers.get("host", "")):
        return _misdirected()
    origin = headers.get("origin")
    is_known = settings.CORS_ALLOW_ALL_ORIGINS or origin in _origins()
    if origin and not (is_known or is_ours(origin.partition("://")[2])):
        return problem(403, "not_permitted", detail="Pages of this origin may not call; see CORS_ALLOWED_ORIGINS.")
    return None


def _not_allowed(method: str) -> HttpResponse:
    return problem(405, "method_not_allowed", detail=f"Send {method} here.", headers={"Allow": method})


def _misdirected() -> HttpResponse:
    return problem(421, "misdirected", detail="This server does not go by that name; see ALLOWED_HOSTS.")


def is_ours(host: str) -> bool:
    """Return whether ALLOWED_HOSTS names it, in Django's sense."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def _admitted(headers: dict[str, str], *, now: datetime.datetime) -> Caller | HttpResponse:
    close_old_connections()
    try:
        named = headers.get(USER.lower())
        return admit(
            headers.get("authorization", "").encode("latin-1"),
            namespace=headers.get("x-novamem-namespace", ""),
            user=None if named is None else decoded_user(named),
            now=now,
        )
    except Exception as error:  # noqa: BLE001  # every error has its problem
        return handler(error, {})
    finally:
        close_old_connections()


async def _answer(response: HttpResponse, send: Send) -> None:
    headers = [(name.encode(), value.encode()) for name, value in response.headers.items()]
    headers.append((b"content-length", str(len(response.content)).encode()))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
