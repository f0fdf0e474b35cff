"""sentence-transformers models, run by torch."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from memories.providers.embedders import Vectors

_import = threading.Lock()


class SentenceEncoder:
    """A sentence-transformers model in this process."""

    def __init__(self, source: str) -> None:
        with _import:  # torch comes late: it takes seconds to import
            import torch
            from sentence_transformers import SentenceTransformer
            from transformers.utils.logging import disable_progress_bar

            disable_progress_bar()  # type: ignore[no-untyped-call]
            torch.set_num_threads(1)  # two threads collapse under contention
            self._model: Any = SentenceTransformer(source, device="cpu", local_files_only=True)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n, dim) unit vectors."""
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)
