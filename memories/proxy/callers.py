"""Who asks the proxy: keys of our own, never the upstream's."""

import datetime
import hashlib
import threading
import time
from collections import OrderedDict

from django.db import InterfaceError, OperationalError

from memories import rates, tallies
from memories.access import Principal, principal_of_key
from memories.models.words import Verb
from memories.proxy.refusals import Refused

# How long a key that was valid opens the proxy while the database can't be asked: chats go on without their memory.
GRACE = 300.0
MOST = 10_000


class Acquaintances:
    """The keys that were found valid lately, by digest. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: OrderedDict[bytes, tuple[float, Principal]] = OrderedDict()

    def remember(self, key: str, principal: Principal | None, *, at: float) -> None:
        """Notes what the database said of a key."""
        with self._lock:
            self._seen.pop(_digest(key), None)
            if principal:
                self._seen[_digest(key)] = (at, principal)
            if len(self._seen) > MOST:
                self._seen.popitem(last=False)

    def recall(self, key: str, *, at: float) -> Principal | None:
        """Who that was, if it was within GRACE."""
        with self._lock:
            seen, principal = self._seen.get(_digest(key), (0.0, None))
        return principal if at - seen <= GRACE else None


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


_acquaintances = Acquaintances()


def caller_of(authorization: str, *, now: datetime.datetime) -> Principal:
    """The principal behind `Authorization: Bearer nova_…`. Raises Refused: 401, 403, 429, or 503 for a stranger while
    the database is away."""
    scheme, _, key = authorization.strip().partition(" ")
    principal = _found(key.strip(), now) if scheme.lower() == "bearer" else None
    if principal is None or principal.key_id is None:
        raise Refused(401, "invalid_api_key", "Incorrect API key provided: give a key of NovaMem (nova_…) as Bearer.")
    tallies.note_key(principal.project_id, principal.key_id, at=now)
    if seconds := rates.wait(principal, now=time.monotonic()):
        raise Refused(429, "rate_limit_exceeded", "This key has used up its rate.", retry_after=int(seconds) + 1)
    if not principal.verbs & {Verb.READ, Verb.WRITE}:
        raise Refused(403, "not_permitted", "This needs the verb read or write.")
    return principal


def _found(key: str, now: datetime.datetime) -> Principal | None:
    at = time.monotonic()
    try:
        principal = principal_of_key(key, now=now)
    except (OperationalError, InterfaceError):
        known = _acquaintances.recall(key, at=at)
        if known is None:
            raise
        return known
    _acquaintances.remember(key, principal, at=at)
    return principal
