"""Delivery: each webhook's events, one request each, from where it stopped."""

import datetime
import json
import uuid
from collections.abc import Callable
from typing import Any

import httpx2
import structlog
from django.conf import settings

from conflicts.events import Announcement, Bookmark, list_events
from memories import access, spans
from memories.access import Principal
from memories.models import Webhook
from memories.providers.addresses import pinned
from memories.providers.http import CONNECT, Unanswered, answered_within, unanswered
from memories.webhooks.hooks import place_of
from memories.webhooks.signatures import secret_of, sign

log = structlog.get_logger(__name__)
TIMEOUT = 10.0  # seconds for one request
LEASE = datetime.timedelta(seconds=60)  # that who delivers has a webhook for, after each request anew
AT_ONCE = 100  # events of one webhook in a round
TURN = datetime.timedelta(seconds=10)  # after which a project begins no further request in a round: others wait
FIRST_PAUSE, LONGEST_PAUSE = datetime.timedelta(seconds=15), datetime.timedelta(hours=4)
# And after so many failures: a server that was itself off for days has tried nothing meanwhile.
GIVEN_UP_AFTER, LEAST_TRIES = datetime.timedelta(days=3), 12
Clock = Callable[[], datetime.datetime]


def deliver(principal: Principal, *, clock: Clock, failing: bool = False) -> int:
    """Send what is due of a project's webhooks until its turn is over, each from where it stopped.

    Of those that failed last, or of the others. Return how many events arrived. What fails is sent again, later each
    time; after three days the webhook is disabled.
    """
    until, arrived = clock() + TURN, 0
    with access.enter(principal, why="webhooks"):
        due = Webhook.objects.within(principal.project_id).due(now=clock())
        tried = due.filter(failures__gt=0) if failing else due.filter(failures=0)
        ids = list(tried.values_list("id", flat=True))
    for webhook_id in ids:
        arrived += _deliver_to(principal, webhook_id, clock, until)
        if clock() >= until:
            break
    return arrived


def _deliver_to(principal: Principal, webhook_id: uuid.UUID, clock: Clock, until: datetime.datetime) -> int:
    hook = _claim(principal, webhook_id, now=clock())
    if hook is None:
        return 0
    place = hook.namespace and hook.namespace.name
    news = list_events(principal, since=Bookmark.read(hook.mark), limit=AT_ONCE, kinds=hook.kinds, namespace=place)
    arrived = 0
    for announcement in news.announcements:
        try:
            send(hook, announcement, now=clock())
        except Unanswered as error:
            _fail(principal, hook, error, now=clock())
            return arrived
        arrived, now = arrived + 1, clock()
        well = {"failures": 0, "failing_since": None, "last_error": "", "delivered_at": now}
        if not _save(principal, hook, **place_of(announcement.mark), **well, not_before=now + LEASE):
            return arrived
        if now >= until:
            break
    seen = place_of(news.next) if arrived == len(news.announcements) else {}
    _save(principal, hook, **seen, not_before=clock())
    return arrived


def _claim(principal: Principal, webhook_id: uuid.UUID, *, now: datetime.datetime) -> Webhook | None:
    """Return it, when nobody else is at it; nobody else will be for a while."""
    with access.enter(principal, why="webhooks"):
        rows = Webhook.objects.within(principal.project_id)
        if not rows.due(now=now).filter(id=webhook_id).update(not_before=now + LEASE):
            return None
        found: Webhook = rows.select_related("namespace").get(id=webhook_id)
        return found


def _save(principal: Principal, hook: Webhook, **columns: Any) -> bool:
    """Return whether it was written: it is still there, enabled, and nobody else's meanwhile."""
    with access.enter(principal, why="webhooks"):
        rows = Webhook.objects.within(principal.project_id)
        held = rows.filter(id=hook.id, enabled=True, not_before=hook.not_before).update(**columns)
    for name, value in columns.items():
        setattr(hook, name, value)
    return bool(held)


def _fail(principal: Principal, hook: Webhook, error: Unanswered, *, now: datetime.datetime) -> None:
    failures, since = hook.failures + 1, hook.failing_since or now
    _save(
        principal,
        hook,
        failures=failures,
        failing_since=since,
        last_error=str(error)[:200],
        not_before=now + pause_after(failures),
        enabled=now - since < GIVEN_UP_AFTER or failures < LEAST_TRIES,
    )
    log.warning("webhook_failed", webhook=str(hook.id), why=str(error), failures=failures, enabled=hook.enabled)


def pause_after(failures: int) -> datetime.timedelta:
    """Return how long to wait after so many failures in a row."""
    return min(FIRST_PAUSE * int(2 ** min(failures - 1, 20)), LONGEST_PAUSE)


def send(hook: Webhook, announcement: Announcement, *, now: datetime.datetime) -> None:
    """Send one event, signed. Raise Unanswered for whatever is not answered by 2xx."""
    body, timestamp = body_of(announcement), int(now.timestamp())
    # The same each time that the event is sent.
    message_id = f"msg_{uuid.uuid5(hook.id, str(announcement.mark)).hex}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "NovaMem",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret_of(hook), message_id, timestamp, body),
    }
    with spans.span("client", "POST"):
        timeout = httpx2.Timeout(TIMEOUT, connect=CONNECT)
        # Closed at the latest when time is up: who drips its head would hold a connection for each try.
        with httpx2.Client(trust_env=False, follow_redirects=False, timeout=timeout) as client:
            answered_within(TIMEOUT, lambda: _post(client, hook.url, body, headers))


def body_of(announcement: Announcement) -> bytes:
    """Return the message: the kind, when it happened, and ids."""
    named = ("fragment_id", "conflict_id", "operation_id", "other_id", "receipt_id")
    data = {"id": str(announcement.mark), "namespace": announcement.namespace, "why": announcement.why}
    data |= {name: found and str(found) for name in named for found in [getattr(announcement, name)]}
    message = {"type": announcement.kind, "timestamp": announcement.at.isoformat(), "data": data}
    return json.dumps(message, ensure_ascii=False).encode()


def _post(client: httpx2.Client, url: str, body: bytes, headers: dict[str, str]) -> None:
    sent = pinned(url, may_be_private=settings.WEBHOOK_PRIVATE_ADDRESSES)
    sent["headers"] |= headers
    try:
        with client.stream("POST", content=body, **sent) as answer:
            if not answer.is_success:
                raise Unanswered(f"HTTP {answer.status_code}", kind="status", status=answer.status_code)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise unanswered(error) from error
