"""Relay of an answer, piece by piece as it comes, and keeping what was said until it is written down.

Note [the end of an answer]: it may end in six ways. The upstream ends it, or breaks it off: seen while waiting for the
next piece. The caller leaves: the wait is cancelled, or, while a piece is being sent, only `close` tells; or, before
anything of it is read, nobody does, and it ends by itself. The server stops: the wait is cancelled, or `finish_all`
finds the answer still open. In each the connection to the upstream is given back and what was heard goes to a thread
that no cancellation reaches; a stopping server waits for those threads.
"""

import asyncio
import datetime
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_all
from contextvars import copy_context
from functools import partial
from typing import Self

import httpx2
import structlog
from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from memories.proxy import metrics

MOST = 4 * 1024 * 1024  # bytes of an answer that are kept for reading
WRITERS = ThreadPoolExecutor(4, thread_name_prefix="captures")
UNREAD = 30.0  # seconds within which the caller's server begins to read an answer
PATIENCE = 3.0  # seconds that the end of an answer waits for it to be written down
OUTAGE = 600.0  # seconds for which what was said is kept while the database is away
PAUSE = 1.0  # seconds between two attempts
SETTLE = 4.0  # seconds that a stopping server waits for what is being written down, after its grace for requests
LOOK = 0.2  # seconds after which it looks whether more has ended meanwhile
# Takes what was heard and when it ended, once; what it answers writes it down, and is asked again when it could not.
Listener = Callable[[bytes, datetime.datetime], Callable[[], None]]
log = structlog.get_logger(__name__)
_open: "set[Relay]" = set()
_writing: set[Future[None]] = set()


class Relay:
    """The body of an upstream's answer. `listener`, if any, gets the bytes that passed, once, in a thread."""

    def __init__(self, answer: httpx2.Response, listener: Listener | None) -> None:
        self._answer, self._listener = answer, listener
        self._pieces = answer.aiter_raw()
        self._heard = bytearray()
        self.loop = asyncio.get_running_loop()
        self._ended = False
        # What Django lets fall between the view and the first piece it neither reads nor closes.
        self._unread = self.loop.call_later(UNREAD, self.close)
        _open.add(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next piece, unchanged. Raise CancelledError when the upstream breaks off, so that we do too."""
        self._unread.cancel()
        try:
            piece = await anext(self._pieces)
        except StopAsyncIteration:
            if written := await self.end():
                # The answer is over when what it said can't be lost any more, or the database takes too long: it is
                # written when that comes back. The client has all of it already.
                await asyncio.wait([asyncio.wrap_future(written)], timeout=PATIENCE)
            raise
        except httpx2.HTTPError as error:
            log.warning("upstream_broke_off", error=type(error).__name__)
            await self.end()
            # Nothing went wrong here: Django takes this quietly, and the web server cuts the connection.
            raise asyncio.CancelledError from error
        except BaseException:
            await self.end()
            raise
        if self._listener and len(self._heard) <= MOST:
            self._heard += piece
        return piece

    async def end(self) -> Future[None] | None:
        """Let go of the upstream and write down what was heard; the first time only."""
        if self._ended:
            return None
        self._ended = True
        self._unread.cancel()
        _open.discard(self)
        written = None
        if self._listener:
            work = partial(self._write, self._listener, bytes(self._heard), timezone.now(), time.monotonic() + OUTAGE)
            written = WRITERS.submit(copy_context().run, work)
            _writing.add(written)
            written.add_done_callback(_writing.discard)
        await self._answer.aclose()
        return written

    def close(self) -> None:
        """What Django calls when it has done with the answer, in whatever way; from another thread."""
        if not self._ended and not self.loop.is_closed():
            asyncio.run_coroutine_threadsafe(self.end(), self.loop)

    def _write(self, listener: Listener, received: bytes, ended_at: datetime.datetime, keep_until: float) -> None:
        write = None
        while True:
            try:
                write = write or listener(received, ended_at)
                return write()
            except Exception as error:
                # Away, full, locked for too long, stopped: that passes.
                away = isinstance(error, OperationalError | InterfaceError)
                if not away or self.loop.is_closed() or time.monotonic() > keep_until:
                    metrics.UNCAPTURED.labels("database_away" if away else "failed").inc()
                    log.exception("chat_not_captured", error=type(error).__name__)
                    return None
            finally:
                connection.close()
            time.sleep(PAUSE)


async def finish_all() -> None:
    """End what is still open and wait until everything is written down: the server stops."""
    here, until = asyncio.get_running_loop(), time.monotonic() + SETTLE
    while (still_open := [relay for relay in _open if relay.loop is here]) or _writing:
        for relay in still_open:
            await relay.end()
        waiting = list(_writing)
        if time.monotonic() > until:
            log.error("captures_lost", count=len(waiting))
            return
        await asyncio.to_thread(wait_for_all, waiting, LOOK)
