"""A user in an address, and all that is kept of one."""

import base64
import binascii
import datetime
from typing import Any

from memories import access
from memories.access import NotFound, Principal, users
from memories.models.namespace import user_of
from memories.rest.answers import answers
from memories.rest.tombstones import TombstoneAnswer, tombstones_of


def address_of(user: str) -> str:
    """Return a user as addresses have it: base64url of UTF-8, without padding."""
    return base64.urlsafe_b64encode(user.encode()).decode().rstrip("=")


def user_at(address: str) -> str:
    """Return the user of an address. Raise NotFound for what is none."""
    try:
        return user_of(base64.b64decode(address.encode() + b"=" * (-len(address) % 4), b"-_", validate=True).decode())
    except (binascii.Error, ValueError) as error:  # BadUser is one
        raise NotFound("user") from error


def exported(principal: Principal, user: str, namespace: str | None, *, now: datetime.datetime) -> dict[str, Any]:
    """Return all that is kept of a user as it is exported. Raise NotFound."""
    with access.enter(principal.of_everybody(), why="export user"):
        kept = users.load_user_data(principal, user, namespace)
        tombstones = tombstones_of([row.namespace for row in kept.tombstones])
        return {
            "user": kept.user,
            "namespaces": kept.namespaces,
            "exported_at": now,
            "memories": answers(kept.memories, now=now),
            "tombstones": TombstoneAnswer(
                tombstones.filter(id__in=[row.id for row in kept.tombstones]), many=True
            ).data,
        }
