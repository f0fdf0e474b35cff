"""Client ID metadata documents: a client's id is the address at which it says what it is (a draft that MCP asks for).

Read only while a person is logged in and asked: nobody else makes this server ask another one.
"""

import json
import time
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.conf import settings

from memories.access.oauth_clients import ADDRESS_LIMIT, SCOPES, BadClient, OAuthClient, check_described, known_scopes
from memories.providers.addresses import pinned
from memories.providers.http import CONNECT, Unanswered, answered_within, read_bounded, unanswered

TIMEOUT, LARGEST = 5.0, 10_240  # seconds, bytes of a document


def read_client(client_id: str) -> OAuthClient:
    """Return the client that a document describes. Raise BadClient."""
    if not settings.OAUTH_CLIENT_DOCUMENTS:
        raise BadClient("this server reads no documents of clients; see OAUTH_CLIENT_DOCUMENTS")
    _check_id(client_id)
    try:
        told = answered_within(TIMEOUT, lambda: _get(client_id))
    except Unanswered as error:
        raise BadClient(f"its document can't be read: {error}") from error
    if not isinstance(told, dict) or told.get("client_id") != client_id:
        raise BadClient("its document is of another client")
    if told.get("token_endpoint_auth_method", "none") != "none":
        raise BadClient("it proves itself in a way that is not known here")
    name, uris = check_described(told.get("client_name") or "", told.get("redirect_uris"))
    return OAuthClient(client_id, name, uris, "none", known_scopes(str(told.get("scope") or "").split()) or SCOPES)


def _check_id(client_id: str) -> None:
    """Raise BadClient for an address that no client may have."""
    try:
        parts = urlsplit(client_id)
        _ = parts.port
    except ValueError as error:
        raise BadClient("its id is no address") from error
    plain = len(client_id) <= ADDRESS_LIMIT and client_id.isascii() and client_id.isprintable() and " " not in client_id
    steps = parts.path.split("/")
    if not plain or parts.scheme != "https" or "@" in parts.netloc or parts.fragment or {".", ".."} & set(steps):
        raise BadClient("its id is no plain https address")
    if parts.path in ("", "/"):
        raise BadClient("its id is the address of a whole site")


def _get(url: str) -> Any:
    timeout = httpx2.Timeout(TIMEOUT, connect=CONNECT)
    with httpx2.Client(trust_env=False, follow_redirects=False, timeout=timeout) as client:
        try:
            sent = pinned(url)
            sent["headers"] |= {"Accept": "application/json", "Accept-Encoding": "identity"}
            with client.stream("GET", **sent) as answer:
                if answer.status_code != 200:
                    raise Unanswered(f"HTTP {answer.status_code}", kind="status", status=answer.status_code)
                return json.loads(read_bounded(answer, largest=LARGEST, deadline=time.monotonic() + TIMEOUT))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unanswered(error) from error
        except (ValueError, RecursionError) as error:  # no JSON, or no Unicode
            raise Unanswered("it is no JSON", kind="malformed") from error
