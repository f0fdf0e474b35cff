"""Who asks, about which user, and where their memories lie."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from memories import access
from memories.access import NotFound, Principal
from memories.compat.mem0.filters import ANY
from memories.models import Fragment, Namespace
from memories.models.enums import Users
from memories.models.namespace import BadUser, parts_of
from memories.rest.authentication import USER as USER_HEADER
from memories.rest.authentication import KeyAuthentication, bearer_of, key_of, principal_of

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
    """Return the namespace in which memories lie. Raise ValidationError for a header that names none."""
    principal = key_of(request)
    only = principal.namespaces[0] if len(principal.namespaces) == 1 else "*"
    named = request.headers.get("X-NovaMem-Namespace", "")
    try:
        if named and parts_of(named)[1] is not None:
            raise BadUser("Name a namespace; a user is named by user_id.")
    except BadUser as error:
        raise ValidationError({"X-NovaMem-Namespace": [str(error)]}) from error
    return named or (only if "*" not in only else f"{principal.project}:{DEFAULT}")


def principal_about_user(request: Request, user: str | None) -> Principal:
    """Return who asks, about the user named: one, `*` for all, else the header's. Raise as `principal_of`."""
    if user is None:
        return principal_of(request)
    return key_of(request).of_user(None, all_users=True) if user == ANY else key_of(request).of_user(user)


@dataclass(frozen=True, slots=True)
class Named:
    """A memory that a request names, where it lies, and who asks about it: mem0's client names no user beside an id."""

    id: uuid.UUID
    namespace: Namespace
    principal: Principal


def named_memories(request: Request, ids: Sequence[uuid.UUID]) -> list[Named]:
    """Return the memories of these ids. Raise NotFound for one that the key doesn't reach.

    Without a header a key that speaks for all users asks about the user of each; for another these are unknown.
    """
    key = key_of(request)
    by_user = USER_HEADER not in request.headers and key.speaks_for_all and key.users != Users.REQUIRED
    asker = key.of_everybody() if by_user else principal_of(request)
    with access.enter(asker, why="look"):
        rows = Fragment.objects.within(asker.project_id).filter(id__in=ids).select_related("namespace")
        places = {row.id: row.namespace for row in rows.only("id", "project_id", "namespace")}
    found = []
    for one in ids:
        if one not in places or not asker.covers_reading(places[one].name):
            raise NotFound(f"memory {one}")
        found.append(Named(one, places[one], key.of_user(places[one].user) if by_user else asker))
    return found


def principal_about_memory(request: Request, memory_id: uuid.UUID) -> Principal:
    """Return who asks about one memory. Raise NotFound."""
    (one,) = named_memories(request, [memory_id])
    return one.principal
