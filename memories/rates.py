"""Requests per minute by grant: a token bucket per key and process."""

import threading
import uuid

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


_buckets: dict[uuid.UUID, Bucket] = {}
_lock = threading.Lock()


def wait(principal: Principal, *, now: float) -> float:
    """Takes one of the key's tokens and answers 0, or the seconds until it has one; people have no limit.

    `now` in seconds of a clock that never goes back.
    """
    rate, key_id = principal.requests_per_minute, principal.key_id
    if not rate or key_id is None:
        return 0.0
    with _lock:
        return _buckets.setdefault(key_id, Bucket(rate=rate, now=now)).wait(now)
