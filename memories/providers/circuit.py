"""A circuit breaker: who failed often in a row is left alone for a while, then tried once."""

import threading
import time
from collections.abc import Callable

FAILURES = 5
REST = 30.0  # seconds


class Circuit:
    """Threads may share it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failures, self._until = 0, float("-inf")

    @property
    def open(self) -> bool:
        """Whether nobody is let through just now."""
        return self._failures >= FAILURES and self._clock() < self._until

    def enter(self) -> bool:
        """Return whether to try. After the rest one is let through; the others wait for what becomes of it."""
        with self._lock:
            if self.open:
                return False
            if self._failures >= FAILURES:
                self._until = self._clock() + REST
            return True

    def leave(self, *, worked: bool) -> None:
        """What became of a try."""
        with self._lock:
            self._failures = 0 if worked else self._failures + 1
            if self._failures >= FAILURES:
                self._until = self._clock() + REST
