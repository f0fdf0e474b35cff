"""Webhooks: events sent to an address, signed, in order, at least once."""

from memories.webhooks.delivery import deliver
from memories.webhooks.hooks import (
    BadUrl,
    TooManyWebhooks,
    WebhookDraft,
    check_url,
    create_webhook,
    delete_webhook,
    find_webhook,
    set_enabled,
    webhooks_of,
)
from memories.webhooks.signatures import secret_of, sign

__all__ = [
    "BadUrl",
    "TooManyWebhooks",
    "WebhookDraft",
    "check_url",
    "create_webhook",
    "delete_webhook",
    "deliver",
    "find_webhook",
    "secret_of",
    "set_enabled",
    "sign",
    "webhooks_of",
]
