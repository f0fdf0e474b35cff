"""LangGraph's Postgres store on the embedded Postgres: https://langchain-ai.github.io/langgraph/reference/store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore

from script.benches._peers.encoder import Encoder
from script.benches._peers.measuring import Job, Turn


class LangGraph:
    """Items under a namespace per conversation; its default index (HNSW, cosine)."""

    note = "vectors (HNSW)"

    def __init__(self, encoder: Encoder, store: PostgresStore) -> None:
        self._encoder, self._store = encoder, store

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        self._store.batch(
            PutOp((place,), turn.id, {"text": turn.text, "session": turn.session, "at": turn.at}) for turn in turns
        )

    def search(self, place: str, question: str, count: int) -> list[str]:
        return [item.key for item in self._store.search((place,), query=question, limit=count)]

    def embedding(self) -> float:
        return self._encoder.seconds


@contextmanager
def opened(job: Job) -> Iterator[LangGraph]:
    """A new store, one connection."""
    encoder = Encoder(job.model)

    def embed(texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = encoder(texts).tolist()
        return vectors

    index = {"dims": encoder.dim, "embed": embed, "fields": ["text"]}
    with PostgresStore.from_conn_string(job.database, index=index) as store:
        store.setup()
        yield LangGraph(encoder, store)
