"""Who sends much has to be known before it is taken in: anybody else could fill the disk."""

from collections.abc import Iterable
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.db import connection
from django.http import HttpRequest, parse_cookie
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed

from memories import access
from memories.api.authentication import bearer_of


def is_known(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a valid key comes with a request, or the session of somebody. Raises OperationalError as `connect`."""
    told = dict(headers)
    try:
        return _has_key(told.get(b"authorization", b"")) or _is_logged_in(told.get(b"cookie", b""))
    finally:
        connection.close()


def _has_key(header: bytes) -> bool:
    try:
        bearer_of(header, now=timezone.now())
    except AuthenticationFailed:
        return False
    return True


def _is_logged_in(header: bytes) -> bool:
    session = parse_cookie(header.decode("latin-1")).get(settings.SESSION_COOKIE_NAME)
    if not session:
        return False
    access.connect()
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session)
    return get_user(request).is_authenticated
