"""Models that run in this process: loaded on first use, shared by all threads."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from django.conf import settings

from memories.providers.embedders import EmbeddingFailed, Encoder, Readiness, Vectors, unit_vectors

PAUSE = 10.0  # seconds after a failed load in which nobody tries again


class LocalEmbedder(ABC):
    """An embedder around an encoder that `_load` brings."""

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._error: Exception | None = None
        self._failed_at = float("-inf")

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._embed(texts, "encode")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return self._embed(texts, "encode_queries")

    def readiness(self) -> Readiness:
        """See Embedder."""
        if self._error:
            return "failed"
        return "ready" if self._encoder else "loading"

    def _embed(self, texts: Sequence[str], how: Literal["encode", "encode_queries"]) -> Vectors:
        try:
            encode = getattr(self._encoder or self.load(), how)
            vectors = unit_vectors(encode(texts) if texts else [], count=len(texts), dim=self.dim)
        except EmbeddingFailed as error:
            self._error = error
            raise
        except Exception as error:  # torch and onnxruntime raise whatever they like
            self._error = error
            raise EmbeddingFailed(f"{type(error).__name__}: {error}") from error
        self._error = None
        return vectors

    def load(self) -> Encoder:
        """Return the model, loaded by one thread. Raise EmbeddingFailed, or whatever the model's library does."""
        if not self._lock.acquire(timeout=settings.EMBEDDINGS_TIMEOUT):
            raise EmbeddingFailed(f"{self.name} is still loading")
        try:
            if self._encoder is None:
                if time.monotonic() < self._failed_at + PAUSE:
                    raise EmbeddingFailed(f"{self.name} could not be loaded a moment ago")
                self._failed_at = time.monotonic()
                self._encoder = self._load()
            return self._encoder
        finally:
            self._lock.release()

    @abstractmethod
    def _load(self) -> Encoder:
        """Return the model, ready to use; may take long and raise anything."""
        ...
