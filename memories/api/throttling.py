"""Requests per minute by grant: a token bucket per key and process."""

import threading
import time
from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.access import Principal


class Bucket:
    """Fills with `rate` tokens a minute up to `rate`; each request takes one."""

    def __init__(self, *, rate: int, now: float) -> None:
        self.rate, self.tokens, self.at = rate, float(rate), now

    def wait(self, now: float) -> float:
        """Takes a token and answers 0, or the seconds until there is one."""
        self.tokens = min(self.rate, self.tokens + (now - self.at) * self.rate / 60)
        self.at = now
        if self.tokens >= 1:
            self.tokens -= 1
            return 0.0
        return (1 - self.tokens) * 60 / self.rate


_buckets: dict[Any, Bucket] = {}
_lock = threading.Lock()


class KeyThrottle(BaseThrottle):
    """Keeps a key to its grant's rate; 0 means no limit."""

    seconds = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether the key has a token left."""
        principal = request.user
        if not isinstance(principal, Principal) or not principal.requests_per_minute:
            return True
        rate = principal.requests_per_minute
        now = time.monotonic()
        with _lock:
            self.seconds = _buckets.setdefault(principal.key_id, Bucket(rate=rate, now=now)).wait(now)
        return self.seconds == 0

    def wait(self) -> float:
        """Seconds until the next token."""
        return self.seconds
