"""Who sends much has to be known before it is taken in, and to have the right to: anybody else could fill the disk."""

import datetime
import uuid
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import DatabaseError, connection
from django.http import HttpRequest, parse_cookie
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from memories import access
from memories.access import rate_limits
from memories.models import Membership
from memories.models.enums import Role, Verb
from memories.rest.authentication import bearer_of

# An upload of which nothing was heard for so long has ended, as when its server was killed. It tells so more often.
LEASE, TELL = datetime.timedelta(minutes=5), 60.0


class Unknown(Exception):
    """Neither a valid key comes with the request nor the session of somebody."""


class MayNot(Exception):
    """Whoever it is may not send a file here."""


class TooMany(Exception):
    """As many uploads as they may have are on their way."""


def admit(headers: Iterable[tuple[bytes, bytes]], *, file: bool) -> uuid.UUID:
    """Return the seat of a large upload, which is to be left. `file`: a bundle, which is for administrators.

    Raise Unknown, MayNot, TooMany; OperationalError as `connect`.
    """
    values = dict(headers)
    try:
        key = values.get(b"authorization") or b"Bearer " + values.get(b"x-api-key", b"")
        sender = _by_key(key, file) or _by_session(values.get(b"cookie", b""), file)
        if not sender:
            raise Unknown
        most: int = settings.UPLOADS_PER_KEY
        seat = rate_limits.acquire_seat(rate_limits.UPLOAD, sender, most=most, until=timezone.now() + LEASE)
        if seat is None:
            raise TooMany
        return seat
    finally:
        connection.close()


def stay(seat: uuid.UUID) -> None:
    """The upload goes on."""
    with suppress(DatabaseError):
        rate_limits.renew_seat(seat, until=timezone.now() + LEASE)
    connection.close()


def leave(seat: uuid.UUID) -> None:
    """End an upload. Without the database it ends by itself, in time."""
    with suppress(DatabaseError):
        rate_limits.release_seat(seat)
    connection.close()


def _by_key(header: bytes, file: bool) -> str:
    try:
        principal = bearer_of(header, now=timezone.now())
    except AuthenticationFailed:
        return ""
    if file and not (Verb.ADMIN in principal.verbs and principal.covers_all):
        raise MayNot
    return str(principal.key_id)


def _by_session(header: bytes, file: bool) -> str:
    session = parse_cookie(header.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    if not session:
        return ""
    access.connect()
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session)
    user = get_user(request)
    if not user.is_authenticated:
        return ""
    if file and not Membership.objects.filter(user=user.pk, role=Role.ADMIN).exists():
        raise MayNot
    return f"user {user.pk}"
