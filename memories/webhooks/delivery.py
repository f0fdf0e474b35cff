"""Delivery: each webhook's events, one request each, from where it stopped."""

import datetime
import json
import uuid
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2
import structlog

from conflicts.events import Announcement, Bookmark, list_events
from memories import access, spans
from memories.access import Principal
from memories.models import Webhook
from memories.providers.http import CONNECT, Unanswered, answered_within, unanswered
from memories.webhooks.addresses import resolve
from memories.webhooks.hooks import place_of
from memories.webhooks.signatures import secret_of, sign

log = structlog.get_logger(__name__)
TIMEOUT = 10.0  # seconds for one request
LEASE = datetime.timedelta(seconds=60)  # that who delivers has a webhook for, after each request anew
AT_ONCE = 100  # events of one webhook in a round
FIRST_PAUSE, LONGEST_PAUSE = datetime.timedelta(seconds=15), datetime.timedelta(hours=4)
GIVEN_UP_AFTER = datetime.timedelta(days=3)
PORTS = {"http": 80, "https": 443}
Clock = Callable[[], datetime.datetime]


def deliver(principal: Principal, *, clock: Clock) -> int:
    """Send what is due of a project's webhooks, each from where it stopped; how many events arrived.

    What fails is sent again, later each time; after three days the webhook is disabled.
    """
    with access.enter(principal, why="webhooks"):
        due = list(Webhook.objects.within(principal.project_id).due(now=clock()).values_list("id", flat=True))
    return sum(_deliver_to(principal, webhook_id, clock) for webhook_id in due)


def _deliver_to(principal: Principal, webhook_id: uuid.UUID, clock: Clock) -> int:
    hook = _claim(principal, webhook_id, now=clock())
    if hook is None:
        return 0
    place = hook.namespace and hook.namespace.name
    news = list_events(principal, since=Bookmark.read(hook.mark), limit=AT_ONCE, kinds=hook.kinds, namespace=place)
    for done, announcement in enumerate(news.announcements):
        try:
            send(hook, announcement, now=clock())
        except Unanswered as error:
            _fail(principal, hook, error, now=clock())
            return done
        now = clock()
        arrived = {"failures": 0, "failing_since": None, "last_error": "", "delivered_at": now}
        if not _save(principal, hook, **place_of(announcement.mark), **arrived, not_before=now + LEASE):
            return done + 1
    _save(principal, hook, **place_of(news.next), not_before=clock())
    return len(news.announcements)


def _claim(principal: Principal, webhook_id: uuid.UUID, *, now: datetime.datetime) -> Webhook | None:
    """Return it, when nobody else is at it; nobody else will be for a while."""
    with access.enter(principal, why="webhooks"):
        rows = Webhook.objects.within(principal.project_id)
        if not rows.due(now=now).filter(id=webhook_id).update(not_before=now + LEASE):
            return None
        found: Webhook = rows.select_related("namespace").get(id=webhook_id)
        return found


def _save(principal: Principal, hook: Webhook, **columns: object) -> bool:
    """Return whether it is still there and enabled, and this was written."""
    with access.enter(principal, why="webhooks"):
        rows = Webhook.objects.within(principal.project_id).filter(id=hook.id, enabled=True)
        return bool(rows.update(**columns))


def _fail(principal: Principal, hook: Webhook, error: Unanswered, *, now: datetime.datetime) -> None:
    with access.enter(principal, why="webhooks"):
        row = Webhook.objects.within(principal.project_id).filter(id=hook.id).first()
        if row is None:
            return
        row.failing_since = row.failing_since or now
        row.failures += 1
        row.last_error = str(error)[:200]
        row.not_before = now + pause_after(row.failures)
        row.enabled = row.enabled and now - row.failing_since < GIVEN_UP_AFTER
        row.save(update_fields=["failing_since", "failures", "last_error", "not_before", "enabled"])
    log.warning("webhook_failed", webhook=str(hook.id), why=row.last_error, failures=row.failures, enabled=row.enabled)


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
        answered_within(TIMEOUT, lambda: _post(hook.url, body, headers))


def body_of(announcement: Announcement) -> bytes:
    """Return the message: the kind, when it happened, and ids."""
    named = ("fragment_id", "conflict_id", "operation_id", "other_id", "receipt_id")
    data = {"id": str(announcement.mark), "namespace": announcement.namespace, "why": announcement.why}
    data |= {name: found and str(found) for name in named for found in [getattr(announcement, name)]}
    message = {"type": announcement.kind, "timestamp": announcement.at.isoformat(), "data": data}
    return json.dumps(message, ensure_ascii=False).encode()


def _post(url: str, body: bytes, headers: dict[str, str]) -> None:
    parts = urlsplit(url)
    host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
    # Looked up once and connected to by its address: a second look could find another one.
    target = httpx2.URL(url).copy_with(host=resolve(host, port))
    timeout = httpx2.Timeout(TIMEOUT, connect=CONNECT)
    try:
        with (
            httpx2.Client(trust_env=False, follow_redirects=False, timeout=timeout) as client,
            client.stream(
                "POST",
                target,
                content=body,
                headers={**headers, "Host": parts.netloc},
                extensions={"sni_hostname": host},
            ) as answer,
        ):
            if not answer.is_success:
                raise Unanswered(f"HTTP {answer.status_code}", kind="status", status=answer.status_code)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise unanswered(error) from error
