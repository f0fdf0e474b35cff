"""Who asks: `Authorization: Bearer nova_…`. Unknown, revoked and expired keys look the same."""

import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories import tallies
from memories.access import Principal, connect, principal_of_key
from memories.models import KeyText
from memories.models.words import Verb

METHOD_VERB = {"GET": Verb.READ, "HEAD": Verb.READ, "OPTIONS": Verb.READ}


def principal_of(request: Request) -> Principal:
    """Who asks; `HasVerb` let nobody else through."""
    principal = request.user
    assert isinstance(principal, Principal)
    return principal


def bearer_of(header: bytes, *, now: datetime.datetime) -> Principal:
    """The principal behind an Authorization header. Raises AuthenticationFailed; OperationalError as `connect`."""
    match header.split():
        # What is no key at all waits for no connection.
        case [scheme, key] if scheme.lower() == b"bearer" and KeyText.parse(text := key.decode("latin-1")):
            connect()
            principal = principal_of_key(text, now=now)
            if principal and principal.key_id:
                tallies.note_key(principal.project_id, principal.key_id, at=now)
                return principal
    raise AuthenticationFailed("This key is not valid.")


class KeyAuthentication(BaseAuthentication):
    """The principal behind an API key becomes `request.user`."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """None without a header; AuthenticationFailed with a bad one."""
        header = get_authorization_header(request)
        return (bearer_of(header, now=timezone.now()), None) if header.split() else None

    def authenticate_header(self, request: Request) -> str:
        """What a 401 asks for."""
        return "Bearer"


class HasVerb(BasePermission):
    """The grant's verbs decide: reading for GET, else writing, unless the view names another in `verbs`."""

    message = "This key's grant lacks the verb for this."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Whether the principal may use this method here."""
        if not isinstance(request.user, Principal):
            return False
        default = METHOD_VERB.get(request.method or "", Verb.WRITE)
        return getattr(view, "verbs", {}).get(request.method, default) in request.user.verbs


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document names the key."""

    target_class = "memories.api.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """An HTTP bearer scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "nova_<id>_<secret>_<crc>"}
