"""Request queues: admission control of the API. Who would wait too long is refused at once (decision 0130)."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import wait
from contextlib import asynccontextmanager, contextmanager, suppress

from django.conf import settings
from prometheus_client import Counter

from memories.providers.http import stepping_aside

API = ("/api/", "/compat/")
# POST asks a question there.
QUESTIONS = (
    "/api/v1/search",
    "/api/v1/search/batch",
    "/api/v1/context",
    "/compat/mem0/v3/memories/search/",
    "/compat/mem0/v3/memories/",
)
WIDTH = 2  # requests of a queue at a time: more would only share the same processors
PATIENCE = 1.0  # seconds between looks whether the loop still runs
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
    """Lets WIDTH requests through at a time, first come, first served."""

    def __init__(self, name: str) -> None:
        self._name, self._places = name, asyncio.Semaphore(WIDTH)
        self._mean, self._inside = FIRST, 0

    @property
    def wait(self) -> float:
        """Return the seconds that the next request would wait."""
        return max(0, self._inside + 1 - WIDTH) * self._mean / WIDTH

    def refuse_late(self) -> None:
        """Raise Overloaded where the next request would wait for longer than MAX_QUEUE_SECONDS; 0 is no limit."""
        if settings.MAX_QUEUE_SECONDS and self.wait > settings.MAX_QUEUE_SECONDS:
            REFUSED.labels(self._name).inc()
            raise Overloaded(math.ceil(self.wait))

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold a place, once there is one; another has it while the request waits for a service outside."""
        place = _Place(self)
        await place.take()
        token = stepping_aside.set(place.left)
        try:
            yield
        finally:
            stepping_aside.reset(token)
            place.end()

    async def enter(self) -> float:
        """Wait for a place. Return since when it is held."""
        self._inside += 1
        try:
            await self._places.acquire()
        except BaseException:
            self._inside -= 1
            raise
        return time.monotonic()

    def leave(self) -> None:
        """Let the next one have a place."""
        self._inside -= 1
        self._places.release()

    def learn(self, seconds: float) -> None:
        """Count a request that held a place for so long."""
        self._mean += SHARE * (seconds - self._mean)


class _Place:
    """One request's place in a queue. But for `left` all of it happens in the event loop."""

    def __init__(self, queue: RequestQueue) -> None:
        self._queue, self._loop = queue, asyncio.get_running_loop()
        self._since: float | None = None
        self._held, self._ended = 0.0, False

    async def take(self) -> None:
        """Wait for a place; one that the request has by then, or needs no more, is another's."""
        since = await self._queue.enter()
        if self._ended or self._since is not None:
            self._queue.leave()
        else:
            self._since = since

    def give_up(self) -> None:
        """Let another have it."""
        if self._since is not None:
            self._held += time.monotonic() - self._since
            self._since = None
            self._queue.leave()

    def end(self) -> None:
        """Give it up for good, also while the request's thread is outside: its caller left."""
        self._ended = True
        self.give_up()
        self._queue.learn(self._held)

    @contextmanager
    def left(self) -> Iterator[None]:
        """Give it up for a while, in the request's thread."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.give_up)
        try:
            yield
        finally:
            back = self.take()
            try:
                taken = asyncio.run_coroutine_threadsafe(back, self._loop)
            except RuntimeError:
                back.close()
            else:
                while self._loop.is_running() and not wait([taken], PATIENCE).done:
                    pass


class RequestQueues:
    """One for reads and one for writes: neither waits for the other. Pages of people wait in none."""

    def __init__(self) -> None:
        self._reads, self._writes = RequestQueue("reads"), RequestQueue("writes")

    def of(self, method: str, path: str) -> RequestQueue | None:
        """Return the queue of a request."""
        if not path.startswith(API):
            return None
        return self._reads if method in ("GET", "HEAD", "OPTIONS") or path in QUESTIONS else self._writes
