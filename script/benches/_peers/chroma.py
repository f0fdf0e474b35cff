"""Chroma, persistent in a folder, a collection per conversation: https://docs.trychroma.com."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import chromadb
from chromadb.config import Settings

from script.benches._peers.encoder import Encoder
from script.benches._peers.measuring import Job, Turn


class Chroma:
    """Documents with their vectors in an HNSW index; cosine."""

    note = "vectors (HNSW)"

    def __init__(self, job: Job) -> None:
        self._encoder = Encoder(job.model)
        settings = Settings(anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(path=job.folder, settings=settings)
        self._collections: dict[str, Any] = {}

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        if place not in self._collections:
            configuration: Any = {"hnsw": {"space": "cosine"}}
            self._collections[place] = self._client.create_collection(
                place, configuration=configuration, embedding_function=None
            )
        texts = [turn.text for turn in turns]
        self._collections[place].add(
            ids=[turn.id for turn in turns],
            documents=texts,
            embeddings=self._encoder(texts),
            metadatas=[{"session": turn.session, "at": turn.at or ""} for turn in turns],
        )

    def search(self, place: str, question: str, count: int) -> list[str]:
        answer = self._collections[place].query(query_embeddings=self._encoder([question]), n_results=count)
        ids: list[str] = answer["ids"][0]
        return ids

    def embedding(self) -> float:
        return self._encoder.seconds


@contextmanager
def opened(job: Job) -> Iterator[Chroma]:
    """A new one."""
    yield Chroma(job)
