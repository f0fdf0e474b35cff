"""What every embedding model offers, and how it says that it can't."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memories.errors import NovaError

Vectors = NDArray[np.float32]
Readiness = Literal["loading", "ready", "failed"]
SHORTEST = 1e-9  # below this a vector has no direction


class EmbeddingFailed(NovaError):
    """The provider could not embed; store now and embed later."""

    status = 503
    code = "embedder_unavailable"
    retry_after = 10
    is_public = False


class TextsRefused(EmbeddingFailed):
    """The provider works, but does not take one of these texts."""


class Embedder(Protocol):
    """One embedding model. Called by many threads at once."""

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Of texts to be found: (n, dim) float32, each row of length 1. Raise EmbeddingFailed."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Of questions, for models that treat them in another way; else as `embed`. Raise EmbeddingFailed."""
        ...

    def readiness(self) -> Readiness:
        """Return whether an answer would come at once."""
        ...


class Encoder(Protocol):
    """A loaded model. What it raises is its own."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Of texts to be found: (n, dim) float32."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Of questions: (n, dim) float32."""
        ...


def unit_vectors(vectors: Any, *, count: int, dim: int) -> Vectors:
    """The vectors brought to length 1. Raise EmbeddingFailed unless they are `count` finite rows of `dim`, none 0."""
    if count == 0:
        return np.empty((0, dim), np.float32)
    try:
        rows = np.asarray(vectors)
    except ValueError as error:
        raise EmbeddingFailed("the vectors are not of one length") from error
    if rows.dtype.kind not in "fiu":
        raise EmbeddingFailed("the vectors are not numbers")
    if rows.shape != (count, dim):
        raise EmbeddingFailed(f"{count} vectors of {dim} numbers were due, not {rows.shape}")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > SHORTEST)).all():
        raise EmbeddingFailed("a vector is zero or not finite")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit
