"""Webhooks as rows: made, found, stopped, started and deleted by who administers all of the project."""

import datetime
import ipaddress
import secrets
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from django.conf import settings

from conflicts.events import Bookmark, Happening, latest
from memories import access
from memories.access import NotFound, NotPermitted, Principal
from memories.errors import NovaError
from memories.models import Webhook
from memories.models.enums import Verb
from memories.models.recall_notices import SALT
from memories.providers.addresses import is_public

MOST = 20  # of one project


class BadUrl(ValueError):
    """No address that events may be sent to."""


class TooManyWebhooks(NovaError):
    """The project has as many as it may have."""

    code = "too_many_webhooks"
    title = "No webhook was made"

    def __init__(self) -> None:
        super().__init__(f"a project has at most {MOST} webhooks: delete one")


@dataclass(frozen=True, slots=True)
class WebhookDraft:
    """What is to be sent where: kinds of events, of one namespace with its users or of all."""

    url: str
    kinds: Sequence[str] = (Happening.RECALL_NOTICE,)
    namespace: str | None = None


def webhooks_of(principal: Principal) -> Any:
    """Return the project's; none for who does not cover all of it."""
    rows = Webhook.objects.within(principal.project_id).select_related("namespace")
    return rows if principal.asks_for_all else rows.none()


def find_webhook(principal: Principal, webhook_id: uuid.UUID) -> Webhook:
    """Return it, inside `access.enter`. Raise NotFound."""
    found: Webhook | None = webhooks_of(principal).filter(id=webhook_id).first()
    if found is None:
        raise NotFound("webhook")
    return found


def create_webhook(principal: Principal, draft: WebhookDraft, *, now: datetime.datetime) -> Webhook:
    """Return a new one, which tells of what happens from now on.

    Raise NotFound for a namespace that is not there or not covered, NotPermitted, TooManyWebhooks.
    """
    principal.require(Verb.ADMIN)
    with access.enter(principal, why="webhook"):
        place = access.find(principal, draft.namespace) if draft.namespace else None
        if draft.namespace and place is None:
            raise NotFound("namespace")
        if not principal.asks_for_all:
            raise NotPermitted("webhooks take a key for all of the project")
        if Webhook.objects.within(principal.project_id).count() >= MOST:
            raise TooManyWebhooks
        made: Webhook = Webhook.objects.create(
            project_id=principal.project_id,
            namespace=place,
            url=draft.url,
            kinds=sorted({str(kind) for kind in draft.kinds}),
            salt=secrets.token_bytes(SALT),
            not_before=now,
            created_at=now,
            **place_of(latest(principal)),
        )
        return made


def place_of(mark: Bookmark) -> dict[str, Any]:
    """Return the columns that say up to which event a webhook has told."""
    return {"mark": str(mark), "upto": mark.recorded_in}


def set_enabled(principal: Principal, webhook_id: uuid.UUID, *, enabled: bool, now: datetime.datetime) -> Webhook:
    """Return it stopped, or started: it goes on where it stopped, and has its three days again. Raise NotFound."""
    with access.enter(principal, why="webhook"):
        row = find_webhook(principal, webhook_id)
        row.enabled = enabled
        if enabled:
            row.not_before, row.failures, row.failing_since = now, 0, None
        row.save(update_fields=["enabled", "not_before", "failures", "failing_since"])
        return row


def delete_webhook(principal: Principal, webhook_id: uuid.UUID) -> None:
    """Delete it. Raise NotFound."""
    with access.enter(principal, why="webhook"):
        find_webhook(principal, webhook_id).delete()


def check_url(url: str) -> None:
    """Raise BadUrl for what is no http address without a password, or is private; names are resolved later."""
    try:
        named = httpx2.URL(url)
        is_address = named.scheme in ("http", "https") and named.host and "%" not in named.host
        is_address = is_address and (named.port is None or 0 < named.port < 2**16)
    except (httpx2.InvalidURL, ValueError):
        is_address = False
    if not is_address or named.userinfo or named.fragment:
        raise BadUrl("Give an address that begins with https:// or http://, without a password.")
    try:
        literal = ipaddress.ip_address(named.host)
    except ValueError:
        return
    if not (settings.WEBHOOK_PRIVATE_ADDRESSES or is_public(literal)):
        raise BadUrl("This address is private.")
