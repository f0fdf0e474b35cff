"""Who sends much has to be known before it is taken in: anybody else could fill the disk."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.http import parse_cookie
from django.utils import timezone

from memories import access
from memories.models import KeyText


def is_known(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a valid key comes with a request, or the session of somebody. Raises OperationalError as `connect`."""
    told = {name: value.decode("latin-1") for name, value in headers}
    try:
        return _has_key(told.get(b"authorization", "")) or _is_logged_in(told.get(b"cookie", ""))
    finally:
        connection.close()


def _has_key(header: str) -> bool:
    scheme, _, key = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not KeyText.parse(key.strip()):
        return False
    access.connect()
    return access.principal_of_key(key.strip(), now=timezone.now()) is not None


def _is_logged_in(header: str) -> bool:
    session = parse_cookie(header).get(settings.SESSION_COOKIE_NAME)
    if not session:
        return False
    access.connect()
    return SESSION_KEY in SessionStore(session)
