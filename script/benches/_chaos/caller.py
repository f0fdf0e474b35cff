"""A client that repeats what it asked until it is answered, as clients should."""

import random
import time
import uuid
from collections.abc import Callable
from typing import Any, Self

import httpx2

from .ledger import Ledger, Row

PATIENCE = 120.0  # seconds until an operation counts as never answered
ANSWER = 10.0  # seconds that one try waits
PAUSE = 0.2
DOUBT = 0.1  # the share of answers that are taken for lost: the same is told again under its key
AGAIN = (408, 429, 500, 502, 503, 504, 507)
ASK_AGAIN = ("in_flight", "gone_meanwhile")


class Unanswered(Exception):
    """Nothing was acknowledged in time."""


class Refused(Exception):
    """A known rejection: the operation did nothing."""


class Caller:
    """One client with one key. What it wrote is counted where the answer came."""

    def __init__(
        self,
        url: str,
        key: str,
        ledger: Ledger,
        *,
        patience: float = PATIENCE,
        answer: float = ANSWER,
        pause: float = PAUSE,
        doubt: float = DOUBT,
    ) -> None:
        self._url, self._ledger, self._patience, self._pause = url, ledger, patience, pause
        self._doubt = doubt
        self._key = {"Authorization": f"Bearer {key}"}
        self._client = httpx2.Client(timeout=answer, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def tell(
        self,
        operation: str,
        method: str,
        path: str,
        body: Row | None = None,
        *,
        was_done: Callable[[int], Any] | None = None,
    ) -> Row:
        """Return the answer of a write, asked until it is acknowledged. Raise Refused, Unanswered.

        `was_done` tells, of a refusal of what was asked before, whether that try has done it; for what takes no
        Idempotency-Key. It answers what stands.
        """
        head = {**self._key, **({"Idempotency-Key": uuid.uuid4().hex} if method == "POST" else {})}
        deadline, tries, answer = time.monotonic() + self._patience, 0, None
        while time.monotonic() < deadline:
            answer = self._try(method, path, body, head)
            tries += 1
            if answer is None or answer.status_code in AGAIN or _code(answer) in ASK_AGAIN:
                self._ledger.retries += 1
                if answer is not None and answer.status_code == 500:
                    self._ledger.server_errors.append(f"{method} {path} {answer.text[:300]}")
                time.sleep(self._pause * (1 + random.random()))
                continue
            if answer.is_success and method == "POST" and tries == 1 and random.random() < self._doubt:
                continue
            if answer.is_success:
                self._ledger.acknowledge(operation)
                found: Row = answer.json() if answer.content else {}
                return found
            if was_done and tries > 1 and (stands := was_done(answer.status_code)):
                self._ledger.acknowledge(operation)
                return stands if isinstance(stands, dict) else {}
            self._ledger.refused[f"{operation} {answer.status_code} {_code(answer)}"] += 1
            raise Refused(f"{operation}: {answer.status_code} {answer.text[:300]}")
        self._ledger.unanswered.append(operation)
        raise Unanswered(f"{operation}: {_last(answer)}")

    def ask(self, path: str, body: Row | None = None, **query: Any) -> Row | None:
        """Return the answer to a question, asked until there is one; None where it is not found. Raise Unanswered."""
        answer = self._asked(path, body, **query)
        found: Row | None = None if answer is None else answer.json()
        return found

    def _asked(self, path: str, body: Row | None = None, **query: Any) -> httpx2.Response | None:
        deadline, answer = time.monotonic() + self._patience, None
        while time.monotonic() < deadline:
            answer = self._try("POST" if body else "GET", path, body, self._key, **query)
            if answer is not None and answer.is_success:
                return answer
            if answer is not None and answer.status_code in (404, 410):
                return None
            time.sleep(self._pause)
        raise Unanswered(f"{path}: {_last(answer)}")

    def chat(self, text: str, namespace: str) -> httpx2.Response | None:
        """Say something through the proxy, once; None where no whole answer came.

        As a stream: its end comes when what was said is written down, or when that takes too long; of a whole answer
        the end comes before.
        """
        body = {"model": "fake", "stream": True, "messages": [{"role": "user", "content": text}]}
        head = {**self._key, "X-NovaMem-Namespace": namespace}
        return self._try("POST", "/v1/chat/completions", body, head)

    def ended(self, operation: Row) -> Row:
        """Return an operation once it has ended. Raise Unanswered when it never does."""
        deadline = time.monotonic() + self._patience
        while time.monotonic() < deadline:
            row = self.ask(f"/api/v1/operations/{operation['id']}")
            if row is None or row["finished_at"]:
                return row or operation
            time.sleep(self._pause)
        raise Unanswered(operation["kind"])

    def locked_out(self) -> None:
        """Return once its key is known no more. Raise Unanswered when it always is."""
        deadline, answer = time.monotonic() + self._patience, None
        while time.monotonic() < deadline:
            answer = self._try("GET", "/api/v1/namespaces", None, self._key)
            if answer is not None and answer.status_code == 401:
                return
            time.sleep(self._pause)
        raise Unanswered(f"the end of a project: {_last(answer)}")

    def read(self, path: str) -> bytes | None:
        """Return a file; None where there is none. Raise Unanswered."""
        answer = self._asked(path)
        return None if answer is None else answer.content

    def listed(self, path: str, **query: Any) -> list[Row]:
        """Return all of a list, page by page."""
        rows: list[Row] = []
        more: dict[str, Any] = {}
        while page := self.ask(path, **query, limit=200, **more):
            rows += page["results"]
            if not page["next"]:
                break
            more = {"cursor": httpx2.URL(page["next"]).params["cursor"]}
        return rows

    def _try(
        self, method: str, path: str, body: Row | None, head: dict[str, str], **query: Any
    ) -> httpx2.Response | None:
        try:
            return self._client.request(method, self._url + path, json=body, headers=head, params=query or None)
        except httpx2.TransportError:
            return None


def _last(answer: httpx2.Response | None) -> str:
    return "no answer" if answer is None else f"{answer.status_code} {answer.text[:200]}"


def _code(answer: httpx2.Response) -> str:
    try:
        return str(answer.json().get("code", ""))
    except (ValueError, AttributeError):
        return ""
