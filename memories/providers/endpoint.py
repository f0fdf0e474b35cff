"""Models behind an OpenAI-compatible endpoint: Ollama, vLLM, TEI, OpenAI itself. Where it is, the operator says."""

import threading
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from memories.providers.embedders import EmbeddingFailed, Readiness, TextsRefused, Vectors, unit_vectors
from memories.providers.http import JsonService, Unanswered

AT_ONCE = 64  # texts of one request
PAUSE = 5.0  # seconds after a failure in which nobody waits for the endpoint again
QUESTION_PATIENCE = 5.0  # seconds: whoever asks is better served by keywords than by waiting longer
TEXTS_AT_FAULT = {400, 413, 422}


class Endpoint:
    """A model that the endpoint knows by this name."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim
        self._lock = threading.Lock()
        self._service: JsonService | None = None
        self._settings: tuple[str, str, float] | None = None
        self._works: bool | None = None
        self._failed_at = float("-inf")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._embed(texts, None)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder. Waits for QUESTION_PATIENCE at most."""
        return self._embed(texts, QUESTION_PATIENCE)

    def readiness(self) -> Readiness:
        """See Embedder. Before the first call nobody knows."""
        return "loading" if self._works is None else "ready" if self._works else "failed"

    def _embed(self, texts: Sequence[str], patience: float | None) -> Vectors:
        rows: list[Any] = []
        for start in range(0, len(texts), AT_ONCE):
            rows.extend(self._ask(list(texts[start : start + AT_ONCE]), patience))
        return unit_vectors(rows, count=len(texts), dim=self.dim)

    def _ask(self, texts: list[str], patience: float | None) -> Vectors:
        if time.monotonic() < self._failed_at + PAUSE:
            raise EmbeddingFailed("the endpoint failed a moment ago")
        try:
            vectors = self._request(texts, patience)
        except TextsRefused:
            raise
        except EmbeddingFailed:
            self._works, self._failed_at = False, time.monotonic()
            raise
        self._works = True
        return vectors

    def _request(self, texts: list[str], patience: float | None) -> Vectors:
        body = {"model": self.name, "input": texts, "encoding_format": "float"}
        try:
            answer = self._connected().post("/embeddings", body, patience=patience)
        except Unanswered as error:
            kind = TextsRefused if error.status in TEXTS_AT_FAULT else EmbeddingFailed
            raise kind(str(error)) from error
        return unit_vectors(in_order(answer, count=len(texts)), count=len(texts), dim=self.dim)

    def _connected(self) -> JsonService:
        url, key, timeout = settings.EMBEDDINGS_URL, settings.EMBEDDINGS_API_KEY, settings.EMBEDDINGS_TIMEOUT
        if not url:
            raise EmbeddingFailed("EMBEDDINGS_URL is not set")
        with self._lock:
            if self._service is None or self._settings != (url, key, timeout):
                self._service, self._settings = JsonService(url, key=key, timeout=timeout), (url, key, timeout)
            return self._service


def in_order(answer: Any, *, count: int) -> list[Any]:
    """The vectors by their `index`, whatever order they came in. Raise EmbeddingFailed when some are missing."""
    try:
        found = {item["index"]: item["embedding"] for item in answer["data"]}
        vectors = [found[index] for index in range(count)]
    except (TypeError, KeyError) as error:
        raise EmbeddingFailed("the answer is not a list of embeddings with their index") from error
    if len(answer["data"]) != count:
        raise EmbeddingFailed(f"{count} vectors were due, {len(answer['data'])} came")
    return vectors
