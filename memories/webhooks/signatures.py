"""Secrets and signatures of webhooks, as Standard Webhooks has them."""

import base64
import hashlib
import hmac

from django.utils.crypto import salted_hmac

from memories.models import Webhook

PREFIX = "whsec_"


def secret_of(hook: Webhook) -> str:
    """Return what its receiver checks signatures with: `whsec_` and 32 bytes in base64.

    Nobody keeps it; another SECRET_KEY makes another one.
    """
    digest = salted_hmac("memories.webhooks", hook.id.bytes + bytes(hook.salt), algorithm="sha256").digest()
    return PREFIX + base64.b64encode(digest).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a message: `v1,` and base64."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
