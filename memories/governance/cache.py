"""A small cache of what was answered a moment ago."""

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

FOR = 1.5  # seconds
MOST = 1_000
T = TypeVar("T")


class Cache(Generic[T]):
    """Threads may share it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._kept: dict[Any, tuple[float, T]] = {}

    def get(self, key: Any) -> T | None:
        """What was put there at most 1.5 seconds ago."""
        with self._lock:
            at, value = self._kept.get(key, (float("-inf"), None))
            return value if self._clock() - at < FOR else None

    def put(self, key: Any, value: T) -> None:
        """Keeps it for a moment; when there are too many, what is over goes, then the oldest."""
        with self._lock:
            if len(self._kept) >= MOST:
                fresh = {k: v for k, v in self._kept.items() if self._clock() - v[0] < FOR}
                self._kept = dict(list(fresh.items())[-MOST // 2 :])
            self._kept.pop(key, None)
            self._kept[key] = (self._clock(), value)

    def forget(self, which: Callable[[Any], bool]) -> None:
        """Drops the keys of which it is true."""
        with self._lock:
            for key in [key for key in self._kept if which(key)]:
                del self._kept[key]
