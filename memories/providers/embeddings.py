"""Texts to unit vectors, by whichever model. A failure gives None: never a zero vector, never a wrong dimension."""

import hashlib
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import structlog
from cachetools import LRUCache
from django.conf import settings
from django.db import connection
from prometheus_client import Counter, Histogram

from memories import spans
from memories.models import EmbeddingModel
from memories.providers.embedders import Embedder, EmbeddingFailed, Readiness, TextsRefused, Vectors
from memories.providers.endpoint import Endpoint
from memories.providers.exports import INT8
from memories.providers.fake import FakeEmbedder
from memories.providers.local import LocalEmbedder
from memories.providers.minilm import MiniLM
from memories.providers.sentences import SentenceTransformer

log = structlog.get_logger(__name__)
AT_ONCE = 64  # texts of one call, so that a failure loses few and a long batch gives other threads their turn

EMBEDDED = Counter("novamem_embeddings", "Texts by whether they were embedded", ["model", "outcome"])
SECONDS = Histogram("novamem_embedding_seconds", "Time of one call of an embedding model", ["model"])
CACHED = Counter("novamem_query_embeddings_cached", "Questions whose vector was known", ["model"])

# The models that are only one, by provider; and the providers that offer many, by their names.
EMBEDDERS: dict[str, Embedder] = {
    "minilm": MiniLM(),
    "minilm-int8": MiniLM("minilm-int8", INT8),
    "fake": FakeEmbedder(),
}
FAMILIES: dict[str, Callable[[str, int], Embedder]] = {"sentence-transformers": SentenceTransformer, "openai": Endpoint}

_made: dict[tuple[str, str, int], Embedder] = {}
_making = threading.Lock()
# Questions asked lately, by model and digest.
_queries: LRUCache[tuple[uuid.UUID, bytes], Any] = LRUCache(settings.EMBEDDINGS_CACHE_SIZE)
_asking = threading.Lock()


def offered() -> tuple[str, ...]:
    """Return the providers that a new model may have; the fake one only where the operator has chosen it himself."""
    return tuple(name for name in (*EMBEDDERS, *FAMILIES) if name != "fake" or settings.EMBEDDER == "fake")


def embedder_of(model: EmbeddingModel) -> Embedder:
    """Return the embedder that serves a model row. Raise EmbeddingFailed for a provider that is gone."""
    if model.provider in EMBEDDERS:
        return EMBEDDERS[model.provider]
    if model.provider not in FAMILIES:
        raise EmbeddingFailed(f"there is no provider {model.provider}")
    key = (model.provider, model.name, model.dim)
    with _making:
        if key not in _made:
            _made[key] = FAMILIES[model.provider](model.name, model.dim)
        return _made[key]


def readiness_of(model: EmbeddingModel) -> Readiness:
    """Return whether the model's embedder would answer at once, in this process."""
    try:
        return embedder_of(model).readiness()
    except EmbeddingFailed:
        return "failed"


def embeds_here(model: EmbeddingModel) -> bool:
    """Return whether the model runs in this process and is loaded: a question then takes it milliseconds."""
    return readiness_of(model) == "ready" and isinstance(embedder_of(model), LocalEmbedder | FakeEmbedder)


def embed(texts: Sequence[str], *, model: EmbeddingModel) -> list[Any]:
    """Return a unit vector per text to be stored, or None for those that the embedder fails on.

    A slow embedder keeps no connection of the pool meanwhile.
    """
    _give_back()
    vectors: list[Any] = []
    try:
        for start in range(0, len(texts), AT_ONCE):
            vectors.extend(_embed_each(list(texts[start : start + AT_ONCE]), model))
    except EmbeddingFailed as error:  # what is down for some texts is down for the rest
        _report(error, model, texts=len(texts) - len(vectors))
    return vectors + [None] * (len(texts) - len(vectors))


def embed_query(text: str, *, model: EmbeddingModel) -> Any:
    """Return the unit vector of a question, or None when the embedder fails. Questions asked lately are known."""
    return embed_queries([text], model=model)[0]


def embed_queries(texts: Sequence[str], *, model: EmbeddingModel) -> list[Any]:
    """Return the unit vectors of questions, in one call for those that are not known; all None when that fails."""
    keys = [(model.id, hashlib.sha256(text.encode(errors="surrogatepass")).digest()) for text in texts]
    with _asking:
        vectors = [_queries.get(key) for key in keys]
    unknown = [n for n, vector in enumerate(vectors) if vector is None]
    CACHED.labels(model.name).inc(len(texts) - len(unknown))
    if not unknown:
        return vectors
    missing = [texts[n] for n in unknown]
    try:
        if not embeds_here(model):
            _give_back()
        found = _called(lambda embedder: embedder.embed_queries(missing), model, texts=len(missing))
    except EmbeddingFailed as error:
        _report(error, model, texts=len(missing))
        return [None] * len(texts)
    for n, vector in zip(unknown, map(np.copy, found), strict=True):
        vector.setflags(write=False)
        vectors[n] = vector
    with _asking:
        _queries.update({keys[n]: vectors[n] for n in unknown})
    return vectors


def _give_back() -> None:
    if not connection.in_atomic_block:
        connection.close()


def _embed_each(texts: list[str], model: EmbeddingModel) -> list[Any]:
    """A vector per text; None for a text that the provider refuses. Raise EmbeddingFailed when it works for none."""
    try:
        return list(_called(lambda embedder: embedder.embed(texts), model, texts=len(texts)))
    except TextsRefused as error:
        if len(texts) == 1:
            _report(error, model, texts=1)
            return [None]
        half = len(texts) // 2
        return _embed_each(texts[:half], model) + _embed_each(texts[half:], model)


def _called(call: Callable[[Embedder], Vectors], model: EmbeddingModel, *, texts: int) -> Vectors:
    start, outcome = time.perf_counter(), "failed"
    try:
        with spans.span("internal", "embed", {"novamem.model": model.name, "novamem.texts": texts}):
            vectors = call(embedder_of(model))
        outcome = "embedded"
        return vectors
    finally:
        EMBEDDED.labels(model.name, outcome).inc(texts)
        SECONDS.labels(model.name).observe(time.perf_counter() - start)


def _report(error: EmbeddingFailed, model: EmbeddingModel, *, texts: int) -> None:
    log.warning("embedding_failed", model=model.name, texts=texts, error=type(error).__name__, why=str(error)[:200])
