"""Django behind ASGI, each request wholly in one thread of a few that last (docs/decisions/0069)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from contextvars import copy_context
from functools import partial
from typing import Any

from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import get_script_prefix
from django.db import close_old_connections
from django.http import FileResponse, HttpResponseBase
from django.urls import set_script_prefix

from novamem.request_limits import Bounded, RequestRefused
from novamem.request_queues import Overloaded, RequestQueues

HEALTH = ("/healthz", "/health")
READINESS = "/readyz"
STATIC = "/static/"


class Pages(Bounded):
    """Answers what is no stream of events. A body is read before a thread is taken: slow callers hold none."""

    def __init__(self, *, threads: int) -> None:
        """`threads` for the pages of people, who find out what keeps those of the API."""
        super().__init__()
        self._pages = ThreadPoolExecutor(threads, thread_name_prefix="pages")
        self._api = ThreadPoolExecutor(RequestQueues.THREADS, thread_name_prefix="api")
        # What needs no database does not queue behind those who wait for it.
        self._light = ThreadPoolExecutor(2, thread_name_prefix="light")
        # What says in time that the database hangs behind neither.
        self._probes = ThreadPoolExecutor(2, thread_name_prefix="probes")
        self._queues = RequestQueues()

    def load_middleware(self, is_async: bool = False) -> None:
        """The middleware in its synchronous form."""
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """One request. Raise RequestRefused."""
        queue = self._queues.of(scope["method"], scope["path"])
        try:
            if queue:
                queue.refuse_late()
            body = await self.read_body(receive)
        except Overloaded as error:
            raise RequestRefused(503, "overloaded", str(error), retry_after=error.retry_after) from error
        except RequestAborted:
            return
        threads = self._api if queue else self._threads_for(scope["path"])
        async with queue.place() if queue else nullcontext():
            response = await _in_thread(threads, self._answer, scope, body)
        if not response.streaming:
            await self.send_response(response, send)
            return
        content = () if scope["method"] == "HEAD" else response.streaming_content
        left = asyncio.create_task(self._left(receive))
        response.streaming_content = _pieces(threads, content, until=left)
        try:
            await self.send_response(response, send)
        finally:
            left.cancel()
            await _in_thread(threads, response.close)

    def _threads_for(self, path: str) -> Executor:
        if path == READINESS:
            return self._probes
        return self._light if path in HEALTH or path.startswith(STATIC) else self._pages

    def _answer(self, scope: Any, body: Any) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=type(self), scope=scope)
        request, refusal = self.create_request(scope, body)
        response = self.get_response(request) if request else refusal
        assert response is not None
        if request is None:
            body.close()
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if response.streaming:
            close_old_connections()  # none is kept while a file goes out
        else:
            response.close()
        return response

    async def _left(self, receive: Any) -> None:
        with suppress(RequestAborted):
            await self.listen_for_disconnect(receive)


async def _pieces(threads: Executor, content: Iterable[bytes], *, until: asyncio.Task[None]) -> AsyncIterator[bytes]:
    """Return a file's pieces, one by one, until the caller leaves; Django itself would read all of them first."""
    pieces = iter(content)
    while not until.done():
        reading = asyncio.ensure_future(_in_thread(threads, next, pieces, b""))
        try:
            piece = await asyncio.shield(reading)
        except asyncio.CancelledError:
            await asyncio.wait([reading])  # a file is not closed while it is read
            raise
        if not piece:
            return
        yield piece


async def _in_thread(threads: Executor, do: Callable[..., Any], *given: Any) -> Any:
    run = partial(copy_context().run, do, *given)
    return await asyncio.get_running_loop().run_in_executor(threads, run)
