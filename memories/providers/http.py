"""JSON over HTTP to services that the operator named: bounded in time and size, never redirected."""

import ipaddress
import json
import time
import weakref
from typing import Any
from urllib.parse import urlsplit

import httpx2

LARGEST = 64 * 1024 * 1024  # bytes of one answer
CONNECT = 5.0  # seconds


class Unanswered(Exception):
    """No usable answer. `status` is the HTTP status, None when there was none."""

    def __init__(self, why: str, *, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


class JsonService:
    """One service. Threads may share it."""

    def __init__(self, url: str, *, key: str = "", timeout: float) -> None:
        self._url, self._timeout = url.rstrip("/"), timeout
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
        deadline = time.monotonic() + seconds
        timeout = httpx2.Timeout(seconds, connect=min(CONNECT, seconds))
        try:
            with self._client.stream("POST", f"{self._url}{path}", json=body, timeout=timeout) as response:
                if response.status_code != 200:
                    raise Unanswered(f"HTTP {response.status_code}", status=response.status_code)
                return json.loads(self._read(response, deadline))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unanswered(type(error).__name__) from error
        except (ValueError, RecursionError) as error:  # no JSON, or no Unicode
            raise Unanswered("the answer is no JSON") from error

    def _read(self, response: httpx2.Response, deadline: float) -> bytes:
        """The raw body: nothing is unpacked, so its size is what came over the wire."""
        body = bytearray()
        for piece in response.iter_raw():
            body += piece
            if len(body) > LARGEST:
                raise Unanswered(f"the answer is over {LARGEST} bytes")
            if time.monotonic() > deadline:
                raise Unanswered("the answer has no end in time")
        return bytes(body)


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
