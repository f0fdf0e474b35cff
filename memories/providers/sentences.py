"""sentence-transformers models, run by torch: from the local cache or a folder, never fetched."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from memories.providers.embedders import Encoder, Vectors
from memories.providers.local import LocalEmbedder

torch_import = threading.Lock()

# Names of our own: where the model is found, and what it wants before a question and before a text.
NAMED = {
    "multilingual-e5-small": ("intfloat/multilingual-e5-small", {"query": "query: ", "document": "passage: "}),
}


def prepare_torch() -> None:
    """Import torch, which takes seconds and therefore comes late, and let it work quietly; inside `torch_import`."""
    import torch
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]  # it has no types
    torch.set_num_threads(1)  # two threads collapse under contention


class SentenceEncoder:
    """A sentence-transformers model in this process. `prompts` replaces what the model's own settings say."""

    def __init__(self, source: str, *, prompts: dict[str, str] | None = None) -> None:
        with torch_import:
            prepare_torch()
            from sentence_transformers import SentenceTransformer

            self._model: Any = SentenceTransformer(source, device="cpu", local_files_only=True, prompts=prompts)
        self._one_by_one = threading.Lock()  # its tokenizer can't be used by two threads at once

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(n, dim) unit vectors."""
        return self._encode(self._model.encode_document, texts)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """(n, dim) unit vectors."""
        return self._encode(self._model.encode_query, texts)

    def _encode(self, encode: Any, texts: Sequence[str]) -> Vectors:
        with self._one_by_one:
            vectors = encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


class SentenceTransformer(LocalEmbedder):
    """A model by its name in the local cache, by a name of ours, or by the folder it lies in."""

    def _load(self) -> Encoder:
        source, prompts = NAMED.get(self.name, (self.name, None))
        return SentenceEncoder(source, prompts=prompts)
