"""A deterministic embedder without a model: hashed bags of words, so that texts that share words are similar."""

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

WORD = re.compile(r"\w+")


class FakeEmbedder:
    """For tests and for trying the server without a model. Each word adds one signed unit."""

    name, dim = "fake", 384

    def __init__(self, dim: int = 384) -> None:
        self.dim = dim

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dim) unit vectors; equal texts give equal vectors."""
        return np.stack([self._embed_one(text) for text in texts]) if texts else np.empty((0, self.dim), np.float32)

    def _embed_one(self, text: str) -> NDArray[np.float32]:
        vector = np.zeros(self.dim, np.float32)
        for word in WORD.findall(text.lower()) or [text]:
            digest = hashlib.sha256(word.encode(errors="replace")).digest()
            vector[int.from_bytes(digest[:4]) % self.dim] += 1.0 if digest[4] % 2 else -1.0
        length = float(np.linalg.norm(vector))
        if length == 0.0:  # words that cancel each other out
            vector[0], length = 1.0, 1.0
        return vector / np.float32(length)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed`."""
        return self.embed(texts)

    def readiness(self) -> Literal["loading", "ready", "failed"]:
        """Always at once."""
        return "ready"
