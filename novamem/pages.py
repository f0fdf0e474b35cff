"""Django behind ASGI, each request wholly in one thread of a few that last (docs/decisions/0069)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any

from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import get_script_prefix
from django.db import close_old_connections
from django.http import FileResponse, HttpResponseBase
from django.urls import set_script_prefix

from novamem.bodies import Bounded


class Pages(Bounded):
    """Answers what is no stream of events. A body is read before a thread is taken: slow callers hold none."""

    def __init__(self, *, threads: int) -> None:
        super().__init__()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="pages")

    def load_middleware(self, is_async: bool = False) -> None:
        """The middleware in its synchronous form."""
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        response = await self._in_thread(self._answer, scope, body)
        if response.streaming:
            response.streaming_content = self._pieces(response.streaming_content)
            try:
                await self.send_response(response, send)
            finally:
                await self._in_thread(response.close)
        else:
            await self.send_response(response, send)

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

    async def _pieces(self, content: Iterable[bytes]) -> AsyncIterator[bytes]:
        """A file's pieces, one by one; Django itself would read all of them first."""
        pieces = iter(content)
        while piece := await self._in_thread(next, pieces, b""):
            yield piece

    async def _in_thread(self, do: Callable[..., Any], *given: Any) -> Any:
        run = partial(copy_context().run, do, *given)
        return await asyncio.get_running_loop().run_in_executor(self._threads, run)
