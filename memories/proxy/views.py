"""/v1/: chats with memory, and everything else as the upstream answers it."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec

import httpx2
import structlog
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from memories.access import Principal
from memories.proxy import metrics, upstream
from memories.proxy.callers import caller_in_time
from memories.proxy.capture import listener_of
from memories.proxy.errors import KNOWN, ProxyRefused, refusal, refused_for
from memories.proxy.options import MemoryOptions, options_of, principal_for
from memories.proxy.prompts import Prompt, prompt_of
from memories.proxy.recall import Recalled, database_deadline, recall
from memories.proxy.relay import Listener, Relay

CHAT = "chat/completions"
# Conversations that pass without memory, and shall say so.
FORGETFUL = ("responses", "messages", "completions")
P = ParamSpec("P")
View = Callable[P, Coroutine[Any, Any, HttpResponseBase]]
log = structlog.get_logger(__name__)


def refusing(view: View[P]) -> View[P]:
    """Errors of our own in OpenAI's shape."""

    @wraps(view)
    async def answer(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return await view(*args, **kwargs)
        except KNOWN as error:
            return refusal(refused_for(error))
        except Exception as error:
            log.exception("unhandled_error", exc_info=error)
            return refusal(ProxyRefused(500, "internal", "Something went wrong in the proxy."))

    return csrf_exempt(answer)


@dataclass(frozen=True, slots=True)
class Chat:
    """An admitted request: who asks what, of the memory and of the upstream."""

    principal: Principal
    wish: MemoryOptions
    prompt: Prompt


@refusing
async def chat(request: HttpRequest) -> HttpResponseBase:
    """Return a chat completion, with what the memory knows on the question; what is said is captured."""
    now, deadline = timezone.now(), database_deadline()
    principal = await caller_in_time(request.headers.get("Authorization", ""), now=now, deadline=deadline)
    admitted = await asyncio.to_thread(_admitted, principal, request)
    recalled = await recall(admitted.principal, admitted.wish, admitted.prompt, now=now, deadline=deadline)
    metrics.PROXIED.labels("chat").inc()
    answer = await upstream.ask(request, CHAT, recalled.body)
    listener = listener_of(
        admitted.principal,
        admitted.wish,
        admitted.prompt,
        recalled,
        status=answer.status_code,
        content_type=answer.headers.get("Content-Type", ""),
        packed=answer.headers.get("Content-Encoding", "identity") != "identity",
    )
    return _handed_on(answer, listener, recalled.headers)


def _admitted(principal: Principal, request: HttpRequest) -> Chat:
    """Return what is asked, read without the database and off the event loop: a body may be long."""
    upstream.require_upstream()
    if request.method != "POST":
        raise ProxyRefused(405, "method_not_allowed", "Use POST.")
    prompt = prompt_of(request.body)
    speaker = principal_for(principal, request.headers, prompt.body)
    return Chat(speaker, options_of(speaker, request.headers), prompt)


@refusing
async def passed(request: HttpRequest, path: str) -> HttpResponseBase:
    """Whatever else of the upstream the key may use."""
    principal = await caller_in_time(
        request.headers.get("Authorization", ""), now=timezone.now(), deadline=database_deadline()
    )
    upstream.require_path(principal, request.method or "", path)
    has_body = "Content-Length" in request.headers or "Transfer-Encoding" in request.headers
    metrics.PROXIED.labels("other").inc()
    answer = await upstream.ask(request, path, upstream.response_chunks(request) if has_body else None)
    return _handed_on(answer, None, Recalled(b"", why_not="endpoint").headers if _converses(request, path) else {})


def _converses(request: HttpRequest, path: str) -> bool:
    return request.method == "POST" and path.strip("/") in FORGETFUL


def _handed_on(answer: httpx2.Response, listener: Listener | None, headers: dict[str, str]) -> HttpResponseBase:
    """Return the upstream's answer as it comes: status, headers and every byte."""
    response = StreamingHttpResponse(
        Relay(answer, listener),
        status=answer.status_code,
        reason=answer.reason_phrase,
        headers={**upstream.response_headers(answer.headers), **headers},
    )
    if "Content-Type" not in answer.headers:
        del response["Content-Type"]
    return response
