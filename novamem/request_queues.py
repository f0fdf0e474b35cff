"""Request queues: admission control of the API. Who would wait too long is refused at once (decision 0130)."""

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from django.conf import settings
from django.db import connection
from prometheus_client import Counter

from memories.providers.http import leave_queue

API = ("/api/", "/compat/")
# POST asks a question there.
QUESTIONS = (
    "/api/v1/search",
    "/api/v1/search/batch",
    "/api/v1/context",
    "/compat/mem0/v3/memories/search/",
    "/compat/mem0/v3/memories/",
)
WIDTH = 2  # requests of a queue at a time, at most: more would only share the same processors
OUTSIDE = 16  # requests of a queue that wait for services outside; further ones keep their places meanwhile
FIRST, SHARE = 0.05, 0.1  # seconds that a request is taken to last at first; what each one adds to the mean
REFUSED = Counter(
    "novamem_requests_refused", "API requests refused because they would have waited too long.", ["queue"]
)


class Overloaded(Exception):
    """More requests wait than are worked off in time; in how many seconds to come again."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"Too much is asked of this server just now; come again in {retry_after} s.")
        self.retry_after = retry_after


class RequestQueue:
    """Lets some requests through at a time, first come, first served."""

    def __init__(self, name: str, width: int = WIDTH) -> None:
        self._name, self._width, self._places = name, width, asyncio.Semaphore(width)
        self._mean, self._inside, self._outside = FIRST, 0, 0

    @property
    def wait(self) -> float:
        """Return the seconds that the next request would wait."""
        return max(0, self._inside + 1 - self._width) * self._mean / self._width

    def refuse_late(self) -> None:
        """Raise Overloaded where the next request would wait for longer than MAX_QUEUE_SECONDS; 0 is no limit."""
        if settings.MAX_QUEUE_SECONDS and self.wait > settings.MAX_QUEUE_SECONDS:
            REFUSED.labels(self._name).inc()
            raise Overloaded(math.ceil(self.wait))

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place, once there is one.

        Who begins to wait for a service outside leaves it for good, as long as not too many do so, and its connection
        to the database too: what is scarce is for those who are worked on.
        """
        self._inside += 1
        try:
            await self._places.acquire()
        except BaseException:
            self._inside -= 1
            raise
        begun, loop, is_held, is_outside = time.monotonic(), asyncio.get_running_loop(), True, False

        def leave() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                self._inside -= 1
                self._mean += SHARE * (time.monotonic() - begun - self._mean)
                self._places.release()

        def step_outside() -> None:
            nonlocal is_outside
            if is_held and self._outside < OUTSIDE:
                self._outside += 1
                is_outside = True
                leave()

        def leave_from_thread() -> None:
            if not connection.in_atomic_block:
                connection.close()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(step_outside)

        token = leave_queue.set(leave_from_thread)
        try:
            yield
        finally:
            leave_queue.reset(token)
            self._outside -= is_outside
            leave()


class RequestQueues:
    """One for questions, other reads and writes each: none waits for another. Pages of people wait in none."""

    THREADS = 3 * (WIDTH + OUTSIDE)  # that the requests of all queues may hold

    def __init__(self) -> None:
        self._questions = RequestQueue("questions", settings.QUESTIONS_AT_ONCE)
        self._reads, self._writes = map(RequestQueue, ("reads", "writes"))

    def of(self, method: str, path: str) -> RequestQueue | None:
        """Return the queue of a request."""
        if not path.startswith(API):
            return None
        if path in QUESTIONS and method == "POST":
            return self._questions
        return self._reads if method in ("GET", "HEAD", "OPTIONS") else self._writes
