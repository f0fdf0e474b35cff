"""Embedders: text in, unit vectors out. Failure is an exception, never a zero vector or a wrong dimension."""

import threading
from collections.abc import Sequence
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from memories.models import EmbeddingModel
from memories.models.words import ModelState
from memories.providers.embedders import Embedder, EmbeddingFailed
from memories.providers.fake import FakeEmbedder
from memories.providers.minilm import MiniLM

log = structlog.get_logger(__name__)

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
