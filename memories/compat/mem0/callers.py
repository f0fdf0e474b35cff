"""Who asks, about which user, and where their memories lie."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone
from rest_framework.request import Request

from memories import access
from memories.access import NotFound, Principal
from memories.compat.mem0.filters import ANY
from memories.models.enums import Users
from memories.rest.authentication import USER as USER_HEADER
from memories.rest.authentication import KeyAuthentication, bearer_of, key_of, principal_of
from memories.rest.fragments import readable_fragment

DEFAULT = "mem0"


class TokenAuthentication(KeyAuthentication):
    """mem0 says `Token`, not `Bearer`."""

    def authenticate(self, request: Request) -> Any:
        """As for the API."""
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "token":
            return bearer_of(b"Bearer " + key.encode("latin-1"), now=timezone.now()), None
        return super().authenticate(request)


def place_of(request: Request) -> str:
    """Return the namespace in which memories lie."""
    principal = key_of(request)
    only = principal.namespaces[0] if len(principal.namespaces) == 1 else "*"
    named = request.headers.get("X-NovaMem-Namespace", "")
    return named or (only if "*" not in only else f"{principal.project}:{DEFAULT}")


def principal_about_user(request: Request, user: str | None) -> Principal:
    """Return who asks, about the user named: one, `*` for all, else the header's. Raise as `principal_of`."""
    if user is None:
        return principal_of(request)
    return key_of(request).of_user(None, all_users=True) if user == ANY else key_of(request).of_user(user)


def principals_about_memories(request: Request, ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Principal]:
    """Return who asks, by memory about the user whose it is: mem0's client names none beside an id. Raise NotFound.

    Without a header this takes a key that speaks for all users; for another the memories of users are unknown.
    """
    key = key_of(request)
    if USER_HEADER in request.headers or not key.speaks_for_all or key.users == Users.REQUIRED:
        return dict.fromkeys(ids, principal_of(request))
    found = {}
    with access.enter(key.of_everybody(), why="look"):
        for memory_id in ids:
            try:
                found[memory_id] = key.of_user(readable_fragment(key.of_everybody(), memory_id).namespace.user)
            except NotFound as error:
                raise NotFound(f"memory {memory_id}") from error
    return found


def principal_about_memory(request: Request, memory_id: uuid.UUID) -> Principal:
    """Return who asks about one memory. Raise NotFound."""
    return principals_about_memories(request, [memory_id])[memory_id]
