"""JSON over HTTP to services that the operator named: bounded in time and size, never redirected."""

import ipaddress
import json
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from memories import spans

T = TypeVar("T")
LARGEST = 64 * 1024 * 1024  # bytes of one answer
CONNECT = 5.0  # seconds
# Called before a service is waited for: it gives up the place that the caller has in a queue of requests.
leave_queue: ContextVar[Callable[[], None]] = ContextVar("leave_queue", default=lambda: None)
GRACE = 0.1  # seconds: what comes at the last moment is still told as what it is


class Unanswered(Exception):
    """No usable answer. `status` is the HTTP status, None when there was none.

    `kind`: `unreachable`, `timeout`, `broken` (off in the middle), `status`, `malformed` or `too_large`.
    """

    def __init__(self, why: str, *, kind: str, status: int | None = None) -> None:
        super().__init__(why)
        self.kind, self.status = kind, status


class JsonService:
    """One service. Threads may share it."""

    def __init__(self, url: str, *, key: str = "", timeout: float, largest: int | None = None) -> None:
        self._url, self._timeout, self._largest = url.rstrip("/"), timeout, largest or LARGEST
        self._host = urlsplit(url).hostname or ""
        self._client = httpx2.Client(
            headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {key}"} if key else {})},
            follow_redirects=False,
            trust_env=not is_loopback(url),  # a proxy of the environment is not for one's own machine
        )
        weakref.finalize(self, self._client.close)

    def post(self, path: str, body: Any, *, patience: float | None = None) -> Any:
        """The answer's JSON, within `patience` seconds if that is less than the service's timeout.

        Raises Unanswered; whatever the service says of an error is left out of it.
        """
        seconds = min(self._timeout, patience or self._timeout)
        leave_queue.get()()
        with spans.span("client", "POST", {"server.address": self._host}):
            return answered_within(seconds, lambda: self._ask(path, body, seconds))

    def _ask(self, path: str, body: Any, seconds: float) -> Any:
        deadline = time.monotonic() + seconds
        timeout = httpx2.Timeout(seconds, connect=min(CONNECT, seconds))
        try:
            with self._client.stream("POST", f"{self._url}{path}", json=body, timeout=timeout) as response:
                if response.status_code != 200:
                    raise Unanswered(f"HTTP {response.status_code}", kind="status", status=response.status_code)
                return json.loads(read_bounded(response, largest=self._largest, deadline=deadline))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unanswered(error) from error
        except (ValueError, RecursionError) as error:  # no JSON, or no Unicode
            raise Unanswered("the answer is no JSON", kind="malformed") from error


def read_bounded(response: httpx2.Response, *, largest: int, deadline: float) -> bytes:
    """Return the raw body: nothing is unpacked, so its size is what came over the wire. Raise Unanswered."""
    body = bytearray()
    for piece in response.iter_raw():
        body += piece
        if len(body) > largest:
            raise Unanswered(f"the answer is over {largest} bytes", kind="too_large")
        if time.monotonic() > deadline:
            raise Unanswered("the answer has no end in time", kind="timeout")
    return bytes(body)


def answered_within(seconds: float, ask: Callable[[], T]) -> T:
    """Return what a request answers. Raise Unanswered when it takes longer, else whatever it raises."""
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:  # noqa: BLE001  # whatever it is belongs to the caller
            answer.set_exception(error)

    # The client bounds each read, not their sum: a head that drips would last. Its thread ends by itself later.
    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(seconds + GRACE)
    except TimeoutError as error:
        raise Unanswered("no answer in time", kind="timeout") from error


def unanswered(error: Exception) -> Unanswered:
    """Return what an error of the client means."""
    return Unanswered(type(error).__name__, kind=_kind(error))


def _kind(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "timeout"
    return "unreachable" if isinstance(error, httpx2.ConnectError | httpx2.InvalidURL) else "broken"


def is_loopback(url: str) -> bool:
    """Return whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
