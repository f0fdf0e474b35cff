"""Who asks the proxy: keys of our own, never the upstream's."""

import asyncio
import datetime
import hashlib
import threading
from collections.abc import Callable, Mapping

from cachetools import TTLCache
from django.db import InterfaceError, OperationalError

from memories import usage_counters
from memories.access import Principal, authorizations, principal_of_key, rate_limits
from memories.models.enums import Verb
from memories.proxy.errors import ProxyRefused
from memories.proxy.threads import in_thread

# How long a key that was valid opens the proxy while the database can't be asked: chats go on without their memory.
GRACE = 300.0
MOST = 10_000
Finding = Callable[[str, datetime.datetime], Principal | None]


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


# Who was found valid lately, by the key's digest.
_acquaintances: TTLCache[bytes, Principal] = TTLCache(maxsize=MOST, ttl=GRACE)
_meeting = threading.Lock()


def credential_of(headers: Mapping[str, str]) -> str:
    """Return `Authorization`, or the key that Anthropic's clients send without it, in the same form."""
    return headers.get("Authorization") or f"Bearer {headers.get('X-Api-Key', '')}"


async def caller_in_time(authorization: str, *, now: datetime.datetime, deadline: float) -> Principal:
    """As `caller_of`, by a time of the event loop: a database that does not answer until then is away."""
    try:
        async with asyncio.timeout_at(deadline):
            return await in_thread(caller_of, authorization, now=now)
    except TimeoutError:
        return caller_of(authorization, now=now, find=_cached_caller)


def caller_of(authorization: str, *, now: datetime.datetime, find: Finding | None = None) -> Principal:
    """The principal behind `Authorization: Bearer nova_…`. Raise Refused: 401, 403, 429, or 503 for a stranger while
    the database is away."""
    scheme, _, key = authorization.strip().partition(" ")
    principal = (find or _look_up)(key.strip(), now) if scheme.lower() == "bearer" else None
    if principal is None or principal.key_id is None:
        raise ProxyRefused(
            401, "invalid_api_key", "Incorrect API key provided: give a key of NovaMem (nova_…) as Bearer or x-api-key."
        )
    usage_counters.count_key_use(principal.project_id, principal.key_id, at=now)
    if seconds := 0.0 if find else _wait(principal):
        raise ProxyRefused(429, "rate_limit_exceeded", "This key has used up its rate.", retry_after=int(seconds) + 1)
    if not principal.verbs & {Verb.READ, Verb.WRITE}:
        raise ProxyRefused(403, "not_permitted", "This needs the verb read or write.")
    return principal


def _wait(principal: Principal) -> float:
    """Seconds until the key has a token; none while the database, which counts them, is away: chats go on."""
    try:
        return rate_limits.wait(principal)
    except (OperationalError, InterfaceError):
        return 0.0


def _look_up(key: str, now: datetime.datetime) -> Principal | None:
    try:
        principal = principal_of_key(key, now=now)
        is_client = principal is not None and authorizations.is_client(principal)
    except (OperationalError, InterfaceError):
        return _cached_caller(key, now)
    if is_client:
        raise ProxyRefused(403, "not_permitted", "Who was let in to the memory may not use the model: give an API key.")
    with _meeting:
        _acquaintances.pop(_digest(key), None)
        if principal:
            _acquaintances[_digest(key)] = principal
    return principal


def _cached_caller(key: str, now: datetime.datetime) -> Principal:
    """Return who held this key within GRACE. Raise OperationalError for a stranger."""
    with _meeting:
        known = _acquaintances.get(_digest(key))
    if known is None:
        raise OperationalError("the database is away")
    return known
