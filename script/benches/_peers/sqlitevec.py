"""sqlite-vec, one file, a partition per conversation: https://alexgarcia.xyz/sqlite-vec."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw
import sqlite_vec

from script.benches._peers.encoder import Encoder
from script.benches._peers.measuring import Job, Turn

# Exact: it compares the question with every vector of the partition.
TABLE = """CREATE VIRTUAL TABLE turns USING vec0(
    place TEXT PARTITION KEY, vector FLOAT[{dim}] distance_metric=cosine, +id TEXT, +content TEXT)"""
ADD = "INSERT INTO turns (place, vector, id, content) VALUES (?, ?, ?, ?)"
FIND = "SELECT id FROM turns WHERE place = ? AND vector MATCH ? AND k = ? ORDER BY distance"


class SqliteVec:
    """Vectors with their texts, in a transaction per batch."""

    note = "vectors (exact)"

    def __init__(self, job: Job, connection: apsw.Connection) -> None:
        self._encoder, self._connection = Encoder(job.model), connection
        connection.execute(TABLE.format(dim=self._encoder.dim))

    def add(self, place: str, turns: Sequence[Turn]) -> None:
        vectors = self._encoder([turn.text for turn in turns])
        rows = [(place, vector.tobytes(), turn.id, turn.text) for turn, vector in zip(turns, vectors, strict=True)]
        with self._connection:
            self._connection.executemany(ADD, rows)

    def search(self, place: str, question: str, count: int) -> list[str]:
        (vector,) = self._encoder([question])
        return [str(row[0]) for row in self._connection.execute(FIND, (place, vector.tobytes(), count))]

    def embedding(self) -> float:
        return self._encoder.seconds


@contextmanager
def opened(job: Job) -> Iterator[SqliteVec]:
    """A new file, write-ahead logged."""
    connection = apsw.Connection(str(Path(job.folder) / "turns.sqlite"))
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.execute("PRAGMA journal_mode = WAL")
    try:
        yield SqliteVec(job, connection)
    finally:
        connection.close()
