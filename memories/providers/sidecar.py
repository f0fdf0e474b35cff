"""The sidecar: a language model behind an OpenAI-compatible service or Ollama. Where it is, the operator says.

A failure is a result like any other: each call ends with a record of what was asked and what came of it.
"""

import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import structlog
import tenacity
from django.conf import settings
from django.db import connection
from prometheus_client import Counter, Histogram

from memories import spans
from memories.providers.circuit import Circuit
from memories.providers.http import JsonService, Unanswered

LARGEST = 1024 * 1024  # bytes of one answer
TRIES = 3
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0  # seconds, of which a random part is waited
PASSING = {429, 500, 502, 503, 504}
OWN_FAULT = {400, 413, 422}  # the sidecar lives: this request is not for it
ANSWERED, MISSING = "answered", "missing"
RESTING = "circuit_open"
CALLS = Counter("novamem_sidecar_calls", "Calls of the language model.", ["purpose", "outcome"])
SECONDS = Histogram("novamem_sidecar_seconds", "How long the language model took, retries included.")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked of the model: who it is (`system`), and what to work on. `purpose` is for counting."""

    purpose: str
    system: str
    prompt: str


@dataclass(frozen=True, slots=True)
class SidecarAnswer:
    """What came of a call: the text, None when there is none, and the record of it.

    `outcome`: `answered`, `missing` (an answer without text), or why there is none: `unreachable`, `timeout`, `broken`,
    `http_500` and the like, `malformed`, `too_large`; `circuit_open` is no call. Hashes are in hexadecimal.
    """

    text: str | None
    outcome: str
    model: str
    host: str
    request_hash: str
    output_hash: str
    latency_ms: int
    tries: int


class InsideTransaction(RuntimeError):
    """A language model or a reranker was about to be asked while a transaction is open."""


@dataclass(frozen=True)
class Sidecar:
    """One sidecar, as the settings describe it. Threads may share it."""

    url: str
    openai: bool
    model: str
    key: str = field(repr=False)
    timeout: float
    circuit: Circuit = field(default_factory=Circuit, compare=False)

    @cached_property
    def _service(self) -> JsonService:
        base = self.url.rstrip("/").removesuffix("/v1")
        return JsonService(base, key=self.key, timeout=self.timeout, largest=LARGEST)

    @property
    def host(self) -> str:
        """Where it is, without what a URL may hold of secrets."""
        parts = urlsplit(self.url)
        return f"{parts.hostname or ''}:{parts.port}" if parts.port else parts.hostname or ""

    def envelope(self, ask: Ask) -> dict[str, Any]:
        """Return the body of the request: the same for the same question."""
        if self.openai:
            messages = [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.prompt}]
            form = {"response_format": {"type": "json_object"}, "temperature": 0}
            return {"model": self.model, "messages": messages, "stream": False, **form}
        options = {"format": "json", "options": {"temperature": 0}}
        return {"model": self.model, "system": ask.system, "prompt": ask.prompt, "stream": False, **options}

    def generate(self, ask: Ask, *, patience: float | None = None) -> SidecarAnswer:
        """Ask, at most for `patience` seconds, retries included. Raise InsideTransaction."""
        refuse_transaction()
        body = self.envelope(ask)
        if not self.circuit.enter():
            return self._log_call(body, None, RESTING, 0, 0)
        start, tries = time.monotonic(), [0]
        with spans.span("internal", "ask the language model", {"novamem.purpose": ask.purpose}):
            text, outcome = self._tried(body, min(self.timeout, patience or self.timeout), tries)
            spans.note({"novamem.outcome": outcome, "novamem.tries": tries[0]})
        self.circuit.leave(worked=outcome in (ANSWERED, MISSING, *(f"http_{status}" for status in OWN_FAULT)))
        taken = time.monotonic() - start
        CALLS.labels(ask.purpose, outcome).inc()
        SECONDS.observe(taken)
        if outcome != ANSWERED:
            log.warning("sidecar_failed", purpose=ask.purpose, outcome=outcome, tries=tries[0])
        return self._log_call(body, text, outcome, round(taken * 1000), tries[0])

    def _tried(self, body: dict[str, Any], patience: float, tries: list[int]) -> tuple[str | None, str]:
        deadline = time.monotonic() + patience
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_passes),
            stop=tenacity.stop_after_attempt(TRIES) | tenacity.stop_before_delay(patience),
            wait=tenacity.wait_random_exponential(FIRST_PAUSE, LONGEST_PAUSE),
            reraise=True,
        )

        def once() -> str | None:
            tries[0] += 1
            path = "/v1/chat/completions" if self.openai else "/api/generate"
            return _text(self._service.post(path, body, patience=max(0.05, deadline - time.monotonic())))

        try:
            text = retrying(once)
        except Unanswered as error:
            return None, f"http_{error.status}" if error.kind == "status" else error.kind
        return text, ANSWERED if text else MISSING

    def _log_call(
        self, body: dict[str, Any], text: str | None, outcome: str, latency_ms: int, tries: int
    ) -> SidecarAnswer:
        hashes = request_hash(body), output_hash(text)
        return SidecarAnswer(text, outcome, self.model, self.host, *hashes, latency_ms, tries)


def request_hash(envelope: dict[str, Any]) -> str:
    """SHA-256 of the envelope with its keys in order: the same envelope, the same hash."""
    text = json.dumps(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def output_hash(text: str | None) -> str:
    """SHA-256 of a tagged payload: an answer without text is told from an empty text."""
    payload = "missing:true" if text is None else f"text:{text}"
    return hashlib.sha256(payload.encode(errors="surrogatepass")).hexdigest()


def _passes(error: BaseException) -> bool:
    """Return whether trying again may help. What took all the time there was does not get more of it."""
    if not isinstance(error, Unanswered):
        return False
    return error.kind in ("unreachable", "broken") or error.status in PASSING


def _text(answer: Any) -> str | None:
    """Return the text of a chat completion or of Ollama's answer; None when there is none."""
    try:
        found = answer["choices"][0]["message"]["content"] if "choices" in answer else answer.get("response")
    except (TypeError, AttributeError, KeyError, IndexError) as error:
        raise Unanswered("the answer is not that of a language model", kind="malformed") from error
    if found is not None and not isinstance(found, str):
        raise Unanswered("the answer's text is no text", kind="malformed")
    return found


def refuse_transaction() -> None:
    """Raise InsideTransaction when one is open; the one that a test runs in does not count, as for Django itself."""
    innermost: Any = connection.atomic_blocks[-1] if connection.in_atomic_block else None
    if innermost is not None and not innermost._from_testcase:
        raise InsideTransaction("a model is never asked while a transaction is open")


_lock = threading.Lock()
_made: list[Sidecar] = []


def current_sidecar() -> Sidecar | None:
    """Return the sidecar that the settings name, with its circuit, or None."""
    if not settings.SIDECAR_URL:
        return None
    wanted = Sidecar(
        url=settings.SIDECAR_URL,
        openai=settings.SIDECAR_OPENAI,
        model=settings.SIDECAR_MODEL,
        key=settings.SIDECAR_KEY,
        timeout=settings.SIDECAR_TIMEOUT,
    )
    with _lock:
        if not _made or _made[0] != wanted:
            _made[:] = [wanted]
        return _made[0]
