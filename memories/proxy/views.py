"""/v1/: chats with memory, and everything else as the upstream answers it."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import httpx2
import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from memories.access import Principal
from memories.proxy import metrics, upstream
from memories.proxy.callers import caller_in_time, credential_of
from memories.proxy.capture import listener_of, scopes_of
from memories.proxy.errors import KNOWN, ProxyRefused, refusal, refused_for
from memories.proxy.formats import FORMATS, Format
from memories.proxy.options import MemoryOptions, options_of, principal_for
from memories.proxy.prompts import Prompt
from memories.proxy.recall import Recalled, database_deadline, recall
from memories.proxy.relay import Listener, Relay

COMPLETIONS = "completions"  # of a text: it passes without memory, and shall say so
P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], Coroutine[Any, Any, HttpResponseBase]]
log = structlog.get_logger(__name__)


def refusing(view: View[P]) -> View[P]:
    """Errors of our own in the shape that the path's clients know."""

    @wraps(view)
    async def answer(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return await view(request, *args, **kwargs)
        except KNOWN as error:
            return refusal(refused_for(error), request.path_info)
        except Exception as error:
            log.exception("unhandled_error", exc_info=error)
            return refusal(ProxyRefused(500, "internal", "Something went wrong in the proxy."), request.path_info)

    return csrf_exempt(answer)


@dataclass(frozen=True, slots=True)
class Chat:
    """An admitted request: who asks what, of the memory and of the upstream."""

    principal: Principal
    wish: MemoryOptions
    prompt: Prompt


@refusing
async def chat(request: HttpRequest, form: Format) -> HttpResponseBase:
    """Return the upstream's answer, with what the memory knows on the question; what is said is captured."""
    now, deadline = timezone.now(), database_deadline()
    principal = await caller_in_time(credential_of(request.headers), now=now, deadline=deadline)
    if form.passes_unread and request.method != "POST":
        return await _pass(principal, request, form.path)
    admitted = await asyncio.to_thread(_admitted, principal, request, form)
    if isinstance(admitted, str):
        return await _pass(principal, request, form.path, why_not=admitted)
    recalled, begun_in = await asyncio.gather(
        recall(admitted.principal, admitted.wish, admitted.prompt, now=now, deadline=deadline),
        scopes_of(admitted.principal, admitted.wish, deadline=deadline),
    )
    metrics.PROXIED.labels("chat").inc()
    answer = await upstream.ask(request, form.path, recalled.body)
    listener = listener_of(
        admitted.principal,
        admitted.wish,
        form,
        admitted.prompt,
        recalled,
        status=answer.status_code,
        content_type=answer.headers.get("Content-Type", ""),
        packed=answer.headers.get("Content-Encoding", "identity") != "identity",
        begun_in=begun_in,
    )
    return _handed_on(answer, listener, recalled.headers)


def _is_too_large(request: HttpRequest) -> bool:
    """Return whether a body is larger than what is read into memory."""
    return int(request.headers.get("Content-Length") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def _admitted(principal: Principal, request: HttpRequest, form: Format) -> Chat | str:
    """Return what is asked, read without the database and off the event loop: a body may be long; or why it passes
    unread, for whom the headers' wishes are granted all the same."""
    upstream.target_of(request.headers, form.path)  # before anything is looked up
    if request.method != "POST":
        raise ProxyRefused(405, "method_not_allowed", "Use POST.")
    prompt, why_not = None, "too_large" if form.passes_unread and _is_too_large(request) else ""
    try:
        prompt = None if why_not else form.prompt_of(request.body)
    except Exception as error:
        if not form.passes_unread:
            raise
        if not isinstance(error, ProxyRefused):  # a fault of ours, which stops no chat
            log.exception("chat_not_read", error=type(error).__name__)
        why_not = "not_understood"
    speaker = principal_for(principal, request.headers, prompt.named_users if prompt else ())
    options = options_of(speaker, request.headers)
    return Chat(speaker, options, prompt) if prompt else why_not


@refusing
async def passed(request: HttpRequest, path: str) -> HttpResponseBase:
    """Whatever else of the upstream the key may use; and chats whose path is written with a slash more."""
    if request.method == "POST" and (form := FORMATS.get(path.strip("/"))):
        return await chat(request, form)
    credential = credential_of(request.headers)
    principal = await caller_in_time(credential, now=timezone.now(), deadline=database_deadline())
    forgets = request.method == "POST" and path.strip("/") == COMPLETIONS
    return await _pass(principal, request, path, why_not="endpoint" if forgets else "")


async def _pass(principal: Principal, request: HttpRequest, path: str, *, why_not: str = "") -> HttpResponseBase:
    """Return what the upstream answers, without memory; of a conversation it is said why."""
    upstream.require_path(principal, request.method or "", path)
    has_body = "Content-Length" in request.headers or "Transfer-Encoding" in request.headers
    metrics.PROXIED.labels("other").inc()
    answer = await upstream.ask(request, path, upstream.response_chunks(request) if has_body else None)
    return _handed_on(answer, None, Recalled(b"", why_not=why_not).headers if why_not else {})


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
