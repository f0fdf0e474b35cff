"""mem0 without a language model (`infer=False`): https://docs.mem0.ai."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase

from script.benches._peers.encoder import Encoder
from script.benches._peers.measuring import Job, Turn


class Embeddings(EmbeddingBase):
    """The encoder, in mem0's terms."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self._encoder = encoder

    def embed(self, text: str, memory_action: Any = None) -> list[float]:
        vector: list[float] = self._encoder([text])[0].tolist()
        return vector


class Mem0:
    """A user per conversation. Its own ids are kept in step with the turns'."""

    def __init__(self, job: Job, store: dict[str, Any], note: str) -> None:
        self.note, self._encoder, self._turns = note, Encoder(job.model), dict[str, str]()
        nobody = {"api_key": "none", "openai_base_url": "http://127.0.0.1:9"}  # never asked
        self._memory = Memory.from_config(
            {
                "vector_store": store,
                "embedder": {"provider": "openai", "config": nobody},
                "llm": {"provider": "openai", "config": nobody},
                "history_db_path": str(Path(job.folder) / "history.db"),
            }
        )
        self._memory.embedding_model = Embeddings(self._encoder)

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        messages = [{"role": turn.role or "user", "content": turn.text} for turn in turns]
        kept = self._memory.add(messages, user_id=place, infer=False)["results"]
        self._turns |= {row["id"]: turn.id for row, turn in zip(kept, turns, strict=True)}

    def search(self, place: str, question: str, count: int) -> list[str]:
        found = self._memory.search(question, filters={"user_id": place}, top_k=count, threshold=0.0)["results"]
        return [self._turns[row["id"]] for row in found]

    def embedding(self) -> float:
        return self._encoder.seconds


@contextmanager
def opened(job: Job) -> Iterator[Mem0]:
    """A new one on its default store, qdrant in a folder; BM25 there needs a model from the network."""
    config = {"path": str(Path(job.folder) / "qdrant"), "on_disk": True, "embedding_model_dims": job.model["dim"]}
    yield Mem0(job, {"provider": "qdrant", "config": config}, "vectors (exact)")
