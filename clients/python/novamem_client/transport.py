"""Requests over HTTP: tried again where that is safe, never done twice, refused with the server's own words."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import random
import time
import unicodedata
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx

VERSION = "0.3.0"
BUSY = frozenset({429, 502, 503, 504})
REFUSED_UNREAD = frozenset({429, 503})  # nothing was done, whatever was asked
Plain = str | int | float | bool | None
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds
LONGEST_TOLD_WAIT = 60.0  # seconds that a server may ask for; beyond, the caller decides


class NovaMemError(Exception):
    """Something went wrong."""


class Unreachable(NovaMemError):
    """The server could not be asked, or its answer was lost."""


class Problem(NovaMemError):
    """The server refused: `code` says why, `errors` which fields are wrong; `request_id` names it to admins."""

    def __init__(self, status: int, body: Mapping[str, Any], *, retry_after: float | None = None) -> None:
        self.status, self.retry_after = status, retry_after
        self.code = str(body.get("code", "unknown"))
        self.title = str(body.get("title", ""))
        self.detail = str(body.get("detail", ""))
        self.errors: list[dict[str, Any]] = list(body.get("errors") or [])
        self.request_id = str(body.get("request_id", ""))
        fields = "; ".join(f"{one.get('field')}: {one.get('message')}" for one in self.errors)
        super().__init__(" ".join(filter(None, [f"{status} {self.code}:", self.detail or self.title, fields])))


@dataclass(frozen=True)
class Request:
    """What is sent, and whether it may be sent again when nobody knows what became of it."""

    method: str
    path: str
    query: httpx.QueryParams = field(default_factory=httpx.QueryParams)
    body: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    repeatable: bool = False
    raw: bool = False

    def wait(self, attempt: int, response: httpx.Response | None) -> float | None:
        """Return how many seconds to wait before the next attempt; None where there should be none."""
        if response is not None and response.status_code not in (BUSY if self.repeatable else REFUSED_UNREAD):
            return None
        told = retry_after(response) if response is not None else None
        if told is not None:
            return told if told <= LONGEST_TOLD_WAIT else None
        wait: float = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1.0)
        return wait

    def answer(self, response: httpx.Response) -> Any:
        """Return what was answered. Raise Problem."""
        if response.is_success:
            return response.content if self.raw else response.json() if response.content else None
        try:
            body = response.json()
        except ValueError:
            body = {"detail": response.text[:500]}
        told = retry_after(response)
        raise Problem(response.status_code, body if isinstance(body, dict) else {}, retry_after=told)


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that the server asks to wait, as a number or as a date."""
    told = response.headers.get("Retry-After")
    if told is None:
        return None
    try:
        return max(0.0, float(told))
    except ValueError:
        at = email.utils.parsedate_to_datetime(told)
        return max(0.0, at.timestamp() - time.time())


def address_of(user: str) -> str:
    """Return a user as addresses name one: base64url of the name, composed as the server composes it."""
    return base64.urlsafe_b64encode(unicodedata.normalize("NFC", user).encode()).decode().rstrip("=")


def _request(
    method: str,
    path: str,
    *,
    places: Mapping[str, str] | None = None,
    query: Mapping[str, Any] | None = None,
    body: dict[str, Any] | None = None,
    idempotency_key: str | None = None,
    if_match: str | None = None,
    once: bool = False,
    repeatable: bool = False,
    raw: bool = False,
) -> Request:
    """Return a request; `once`: the server does it once, however often it is sent under one key."""
    for name, value in (places or {}).items():
        path = path.replace(f"{{{name}}}", quote(address_of(value) if name == "address" else value, safe=""))
    headers = {"If-Match": if_match} if if_match is not None else {}
    if once:
        headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
    values: list[tuple[str, Plain]] = [(name, one) for name, value in (query or {}).items() for one in _words(value)]
    return Request(method, path, httpx.QueryParams(values), body, headers, once or repeatable, raw)


def _words(value: Any) -> list[str]:
    """Return a value as an address has it: a list several times, null not at all."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [word for one in value for word in _words(one)]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _next(page: Mapping[str, Any]) -> dict[str, list[str]] | None:
    """Return what the next page is asked with."""
    return parse_qs(urlsplit(page["next"]).query) if page.get("next") else None


def _settings(url: str, key: str, user: str | None, timeout: float) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {key}", "User-Agent": f"novamem-client/{VERSION}"}
    if user is not None:
        headers["X-NovaMem-User"] = quote(user, safe="")
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout}


class Transport:
    """Sends requests and waits for their answers."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        user: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        http: httpx.Client | None = None,
    ) -> None:
        self.retries, self._owns = retries, http is None
        settings = _settings(url, key, user, timeout)
        self._base, self._headers = settings["base_url"], settings["headers"]
        self._http = http or httpx.Client(timeout=timeout)

    def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owns:
            self._http.close()

    def request(self, method: str, path: str, **more: Any) -> Any:
        """Return what is answered. Raise Problem, Unreachable."""
        request, attempt = _request(method, path, **more), 0
        while True:
            response, lost = None, None
            try:
                response = self._http.request(
                    request.method,
                    self._base + request.path,
                    params=request.query,
                    json=request.body,
                    headers={**self._headers, **request.headers},
                )
            except httpx.TransportError as error:
                lost = error
            wait = _wait(request, attempt, response, lost, self.retries)
            if wait is None:
                return _outcome(request, response, lost)
            time.sleep(wait)
            attempt += 1

    def rows(self, path: str, query: Mapping[str, Any]) -> Iterator[Any]:
        """Return each row of a list, page after page."""
        asked: Mapping[str, Any] | None = query
        while asked is not None:
            page = self.request("GET", path, query=asked, repeatable=True)
            yield from page["results"]
            asked = _next(page)


class AsyncTransport:
    """Sends requests; others go on meanwhile."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        user: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.retries, self._owns = retries, http is None
        settings = _settings(url, key, user, timeout)
        self._base, self._headers = settings["base_url"], settings["headers"]
        self._http = http or httpx.AsyncClient(timeout=timeout)

    async def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owns:
            await self._http.aclose()

    async def request(self, method: str, path: str, **more: Any) -> Any:
        """Return what is answered. Raise Problem, Unreachable."""
        request, attempt = _request(method, path, **more), 0
        while True:
            response, lost = None, None
            try:
                response = await self._http.request(
                    request.method,
                    self._base + request.path,
                    params=request.query,
                    json=request.body,
                    headers={**self._headers, **request.headers},
                )
            except httpx.TransportError as error:
                lost = error
            wait = _wait(request, attempt, response, lost, self.retries)
            if wait is None:
                return _outcome(request, response, lost)
            await asyncio.sleep(wait)
            attempt += 1

    async def rows(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[Any]:
        """Return each row of a list, page after page."""
        asked: Mapping[str, Any] | None = query
        while asked is not None:
            page = await self.request("GET", path, query=asked, repeatable=True)
            for row in page["results"]:
                yield row
            asked = _next(page)


def _wait(
    request: Request, attempt: int, response: httpx.Response | None, lost: Exception | None, retries: int
) -> float | None:
    """Return the seconds until the next attempt; None where this one is the last."""
    if attempt >= retries or response is not None and response.is_success:
        return None
    never_sent = isinstance(lost, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
    if lost is not None and not (request.repeatable or never_sent):
        return None
    return request.wait(attempt, response)


def _outcome(request: Request, response: httpx.Response | None, lost: Exception | None) -> Any:
    if response is None:
        raise Unreachable(f"{request.method} {request.path}: {type(lost).__name__} {lost}".rstrip()) from lost
    return request.answer(response)
