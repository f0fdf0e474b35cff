"""mem0 on the embedded Postgres, where it searches by words too without a model from the network."""

from collections.abc import Iterator
from contextlib import contextmanager

from script.benches._peers.measuring import Job
from script.benches._peers.mem0_memory import Mem0


@contextmanager
def opened(job: Job) -> Iterator[Mem0]:
    """A new one."""
    config = {"connection_string": job.database, "embedding_model_dims": job.model["dim"]}
    yield Mem0(job, {"provider": "pgvector", "config": config}, "vectors (HNSW), words")
