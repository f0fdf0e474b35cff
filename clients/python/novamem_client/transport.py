"""Requests over HTTP: tried again where that is safe, never done twice, refused with the server's own words."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import math
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
IN_FLIGHT = "in_flight"  # the first attempt of what has a key is still at work
Plain = str | int | float | bool | None
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds
LONGEST_TOLD_WAIT = 60.0  # seconds that a server may ask for; beyond, the caller decides
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
NEVER_RIGHT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)  # however often it is tried


class NovaMemError(Exception):
    """Something went wrong; `idempotency_key` is the one under which it may be asked again, if it had one."""

    idempotency_key: str | None = None


class Unreachable(NovaMemError):
    """The server could not be asked, or its answer was lost."""


class Problem(NovaMemError):
    """The server refused: `code` says why, `errors` which fields are wrong; `request_id` names it to admins."""

    def __init__(self, status: int, body: Mapping[str, Any], *, retry_after: float | None = None) -> None:
        self.status, self.body, self.retry_after = status, dict(body), retry_after
        self.code = str(body.get("code", "unknown"))
        self.title = str(body.get("title", ""))
        self.detail = str(body.get("detail", ""))
        errors = body.get("errors")
        listed = errors if isinstance(errors, list) else []
        self.errors: list[dict[str, Any]] = [one for one in listed if isinstance(one, dict)]
        self.request_id = str(body.get("request_id", ""))
        fields = "; ".join(f"{one.get('field')}: {one.get('message')}" for one in self.errors)
        super().__init__(" ".join(filter(None, [f"{status} {self.code}:", self.detail or self.title, fields])))

    def __reduce__(self) -> tuple[Any, ...]:
        return _problem, (self.status, self.body, self.retry_after)


def _problem(status: int, body: Mapping[str, Any], retry_after: float | None) -> Problem:
    return Problem(status, body, retry_after=retry_after)


@dataclass(frozen=True)
class Request:
    """What is sent, and whether it may be sent again when nobody knows what became of it."""

    method: str
    path: str
    query: httpx.QueryParams = field(default_factory=httpx.QueryParams)
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    repeatable: bool = False
    raw: bool = False

    @classmethod
    def of(
        cls,
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
        """Return a request; `once`: the server does it once, however often it is sent under one key.

        Raise NovaMemError for what can't be sent.
        """
        headers = {"If-Match": if_match} if if_match is not None else {}
        if once:
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        try:
            "".join(headers.values()).encode("ascii")
            for name, value in (places or {}).items():
                path = path.replace(f"{{{name}}}", quote(address_of(value) if name == "address" else value, safe=""))
            content = None
            if body is not None:
                content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
                headers["Content-Type"] = "application/json"
            values: list[tuple[str, Plain]] = [
                (name, one) for name, all_ in (query or {}).items() for one in _words(all_)
            ]
            asked = httpx.QueryParams(values)
            str(asked)
        except (TypeError, ValueError) as error:
            raise NovaMemError(f"{method} {path} can't be sent: {error}") from error
        return cls(method, path, asked, content, headers, once or repeatable, raw)

    @property
    def name(self) -> str:
        """Return what is asked, as errors tell it."""
        return f"{self.method} {self.path}"

    def outcome(self, response: httpx.Response | None, lost: Exception | None, *, left: int, attempt: int) -> Outcome:
        """Return what became of an attempt, with `left` more. Raise Problem, Unreachable, NovaMemError."""
        try:
            if response is None:
                return self._lost(lost, left=left, attempt=attempt)
            if response.is_success:
                return Outcome(self._answer(response))
            problem = _refusal(response)
            again = problem.status in (BUSY if self.repeatable else REFUSED_UNREAD)
            again |= self.repeatable and problem.code == IN_FLIGHT and "Idempotency-Key" in self.headers
            told = problem.retry_after
            if not (again and left) or (told is not None and told > LONGEST_TOLD_WAIT):
                raise problem
            return Outcome(wait=_pause(attempt) if told is None else told)
        except NovaMemError as error:
            error.idempotency_key = self.headers.get("Idempotency-Key")
            raise

    def _lost(self, lost: Exception | None, *, left: int, attempt: int) -> Outcome:
        if isinstance(lost, (httpx.InvalidURL, *NEVER_RIGHT)):  # whose words may hold the key
            raise NovaMemError(f"{self.name} can't be sent: the address or a header is not right") from None
        if left and (self.repeatable or isinstance(lost, NEVER_SENT)):
            return Outcome(wait=_pause(attempt))
        raise Unreachable(f"{self.name}: {type(lost).__name__} {lost}".rstrip()) from lost

    def _answer(self, response: httpx.Response) -> Any:
        if self.raw or not response.content:
            return response.content if self.raw else None
        try:
            return response.json()
        except ValueError as error:
            raise NovaMemError(f"{self.name}: {response.status_code}, but no JSON: is this NovaMem?") from error


@dataclass(frozen=True)
class Outcome:
    """What an attempt brought: the answer, or how many seconds to wait before the next one."""

    answer: Any = None
    wait: float | None = None


def _pause(attempt: int) -> float:
    wait: float = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt) * random.uniform(0.5, 1.0)
    return wait


def _refusal(response: httpx.Response) -> Problem:
    try:
        body = response.json()
    except ValueError:
        body = {"detail": response.text[:500]}
    if response.is_redirect:
        body = {"code": "moved", "detail": f"The server sends on to {response.headers.get('Location')}: use that."}
    return Problem(response.status_code, body if isinstance(body, dict) else {}, retry_after=retry_after(response))


def retry_after(response: httpx.Response) -> float | None:
    """Return the seconds that the server asks to wait, as a number or as a date; None where it says nothing of use."""
    told = response.headers.get("Retry-After", "")
    try:
        seconds = float(told)
    except ValueError:
        at = email.utils.parsedate_tz(told)
        seconds = email.utils.mktime_tz(at) - time.time() if at else float("nan")
    return None if math.isnan(seconds) else max(0.0, seconds)


def address_of(user: str) -> str:
    """Return a user as addresses name one: base64url of the name, composed as the server composes it."""
    return base64.urlsafe_b64encode(unicodedata.normalize("NFC", user).encode()).decode().rstrip("=")


def _words(value: Any) -> list[str]:
    """Return a value as an address has it: a list several times, null not at all."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [word for one in value for word in _words(one)]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _page(path: str, page: Any) -> tuple[list[Any], dict[str, list[str]] | None]:
    """Return the rows of a page, and what the next one is asked with. Raise NovaMemError for what is no page."""
    if not isinstance(page, dict) or not isinstance(page.get("results"), list):
        raise NovaMemError(f"GET {path}: the answer is no page of a list")
    return page["results"], parse_qs(urlsplit(page["next"]).query) if page.get("next") else None


@dataclass(frozen=True)
class Connection:
    """Where requests go, and what they all carry. Raise NovaMemError for an address or a key that can't be right."""

    url: str
    headers: dict[str, str] = field(repr=False)

    @classmethod
    def of(cls, url: str, key: str, user: str | None) -> Connection:
        """Return the connection of a key, about a user."""
        try:
            address, host = httpx.URL(url.strip()), urlsplit(url.strip()).hostname
        except (httpx.InvalidURL, ValueError) as error:
            raise NovaMemError("the server's address can't be read") from error
        if address.scheme not in ("http", "https") or not host:
            raise NovaMemError("give the server's address with http:// or https://")
        if not key.strip() or not key.strip().isascii() or not key.strip().isprintable() or " " in key.strip():
            raise NovaMemError("the key holds characters that no key has")
        headers = {"Authorization": f"Bearer {key.strip()}", "User-Agent": f"novamem-client/{VERSION}"}
        if user is not None:
            headers["X-NovaMem-User"] = quote(user, safe="")
        return cls(str(address).rstrip("/"), headers)

    def sent(self, request: Request, timeout: float) -> dict[str, Any]:
        """Return a request as httpx sends it."""
        return {
            "method": request.method,
            "url": self.url + request.path,
            "params": request.query,
            "content": request.content,
            "headers": {**self.headers, **request.headers},
            "timeout": timeout,
            "follow_redirects": False,
        }


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
        self.connection = Connection.of(url, key, user)
        self.timeout, self.retries, self._owns = timeout, retries, http is None
        self._http = http or httpx.Client()

    def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owns:
            self._http.close()

    def request(self, method: str, path: str, **more: Any) -> Any:
        """Return what is answered. Raise Problem, Unreachable, NovaMemError."""
        request = Request.of(method, path, **more)
        for attempt in range(self.retries + 1):
            response, lost = None, None
            try:
                response = self._http.request(**self.connection.sent(request, self.timeout))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                lost = error
            outcome = request.outcome(response, lost, left=self.retries - attempt, attempt=attempt)
            if outcome.wait is None:
                break
            time.sleep(outcome.wait)
        return outcome.answer

    def rows(self, path: str, query: Mapping[str, Any]) -> Iterator[Any]:
        """Return each row of a list, page after page."""
        asked: Mapping[str, Any] | None = query
        while asked is not None:
            rows, asked = _page(path, self.request("GET", path, query=asked, repeatable=True))
            yield from rows


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
        self.connection = Connection.of(url, key, user)
        self.timeout, self.retries, self._owns = timeout, retries, http is None
        self._http = http or httpx.AsyncClient()

    async def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owns:
            await self._http.aclose()

    async def request(self, method: str, path: str, **more: Any) -> Any:
        """Return what is answered. Raise Problem, Unreachable, NovaMemError."""
        request = Request.of(method, path, **more)
        for attempt in range(self.retries + 1):
            response, lost = None, None
            try:
                response = await self._http.request(**self.connection.sent(request, self.timeout))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                lost = error
            outcome = request.outcome(response, lost, left=self.retries - attempt, attempt=attempt)
            if outcome.wait is None:
                break
            await asyncio.sleep(outcome.wait)
        return outcome.answer

    async def rows(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[Any]:
        """Return each row of a list, page after page."""
        asked: Mapping[str, Any] | None = query
        while asked is not None:
            rows, asked = _page(path, await self.request("GET", path, query=asked, repeatable=True))
            for row in rows:
                yield row
