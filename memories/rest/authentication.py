"""Who asks: `Authorization: Bearer nova_…`. Unknown, revoked and expired keys look the same."""

import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, ValidationError
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from memories import usage_counters
from memories.access import Principal, admit_key, connect, principal_of_key
from memories.models import KeyText
from memories.models.enums import Verb
from memories.models.namespace import BadUser, parts_of, user_in_header
from memories.rest import rate_headers

METHOD_VERB = {"GET": Verb.READ, "HEAD": Verb.READ, "OPTIONS": Verb.READ}


USER = "X-NovaMem-User"
JSON = "application/json"
NOT_VALID = "This key is not valid."


def key_of(request: Request) -> Principal:
    """Return whose key asks, whatever user the request is about; `HasVerb` let nobody else through."""
    principal = request.user
    assert isinstance(principal, Principal)
    return principal


def principal_of(request: Request) -> Principal:
    """Return who asks, and about which user: named by the address, the body or a header (there percent-encoded).

    Raise ValidationError, UserRequired, NotPermitted, NotFound.
    """
    known: Principal | None = vars(request).get("about_user")  # asked for more than once
    if known is None:
        known = vars(request)["about_user"] = _about_user(request)
    return known


def _about_user(request: Request) -> Principal:
    body = request.data if request.content_type == JSON and request.method not in ("GET", "HEAD") else {}
    body = body if isinstance(body, dict) else {}
    users = [*request.query_params.getlist("user"), body.get("user")]
    if (header := request.headers.get(USER)) is not None:
        users.append(decoded_user(header))
    named = {user for user in users if isinstance(user, str)}
    everybody = body.get("all_users") is True or request.query_params.get("all_users", "").lower() in ("true", "1")
    try:
        named |= {user for name in _names(request, body) if (user := _user_in(name)) is not None}
        parts = _users_of_parts(body)
        if parts and not named and not everybody:
            return key_of(request).naming(parts)
        if len(named | parts if named else named) > 1:
            raise ValidationError({"user": ["Address, header, body and its parts name different users."]})
        return key_of(request).of_user(next(iter(named), None), all_users=everybody)
    except BadUser as error:
        raise ValidationError({"user": [str(error)]}) from error


def _names(request: Request, body: dict[str, Any]) -> list[Any]:
    several = body.get("namespaces")
    return [
        *request.query_params.getlist("namespace"),
        body.get("namespace"),
        *(several if isinstance(several, list) else ()),
    ]


def _user_in(name: Any) -> str | None:
    """The user of a scope's written name; None for a namespace, and for what names neither, which is told later."""
    if not isinstance(name, str) or "/" not in name:
        return None
    try:
        return parts_of(name.strip())[1]  # trimmed as the field will be
    except BadUser:
        return None


def decoded_user(header: str) -> str:
    """As `user_in_header`. Raise ValidationError."""
    try:
        return user_in_header(header)
    except BadUser as error:
        raise ValidationError({"user": [f"{USER}: {error}"]}) from error


def _users_of_parts(body: dict[str, Any]) -> set[str]:
    """Return the users that the parts of a batch are about, when each says whose it is."""
    parts = body.get("fragments") or body.get("searches")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return set()
    users = [part.get("user", _user_in(part.get("namespace"))) for part in parts]
    return {user for user in users if isinstance(user, str)} if any(users) else set()


def bearer_of(header: bytes, *, now: datetime.datetime) -> Principal:
    """The principal behind an Authorization header. Raise AuthenticationFailed; OperationalError as `connect`."""
    return _known(principal_of_key(_key_in(header), now=now), now=now)


def _key_in(header: bytes) -> str:
    """Return the key, with a connection to look it up; what is no key at all waits for none."""
    match header.split():
        case [scheme, key] if scheme.lower() == b"bearer" and KeyText.parse(text := key.decode("latin-1")):
            connect()
            return text
    raise AuthenticationFailed(NOT_VALID)


def _known(principal: Principal | None, *, now: datetime.datetime) -> Principal:
    if principal is None or not principal.key_id:
        raise AuthenticationFailed(NOT_VALID)
    usage_counters.count_key_use(principal.project_id, principal.key_id, at=now)
    return principal


class KeyAuthentication(BaseAuthentication):
    """The principal behind an API key becomes `request.user`; what it may still do is kept beside (`rate_headers`)."""

    def authenticate(self, request: Request) -> tuple[Principal, None] | None:
        """None without a header; AuthenticationFailed with a bad one."""
        header, now = get_authorization_header(request), timezone.now()
        if not header.split():
            return None
        if getattr(request.parser_context.get("view"), "weighed_by", ""):  # how much, only the body tells
            return bearer_of(header, now=now), None
        admitted = admit_key(_key_in(header), now=now)
        principal = _known(admitted.principal if admitted else None, now=now)
        rate_headers.keep(request, admitted.allowance if admitted else None)
        return principal, None

    def authenticate_header(self, request: Request) -> str:
        """Return what a 401 asks for."""
        return "Bearer"


class HasVerb(BasePermission):
    """The grant's verbs decide: reading for GET, else writing, unless the view names another in `verbs`."""

    message = "This key's grant lacks the verb for this."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return whether the principal may use this method here."""
        if not isinstance(request.user, Principal):
            return False
        return self.needed(view, request.method or "") in request.user.verbs

    @staticmethod
    def needed(view: Any, method: str) -> str:
        """Return the verb that a method of a view takes."""
        return str(getattr(view, "verbs", {}).get(method, METHOD_VERB.get(method, Verb.WRITE)))


class KeyScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document names the key."""

    target_class = "memories.rest.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """An HTTP bearer scheme."""
        return {"type": "http", "scheme": "bearer", "bearerFormat": "nova_<id>_<secret>_<crc>"}
