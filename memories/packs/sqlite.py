"""The SQLite file of a pack: its tables, and how it is opened. This Python's own module can't load extensions."""

from pathlib import Path

import apsw
import sqlite_vec

FORMAT, VERSION = "novamem-pack", "1"
TABLES = """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE memories (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL,
        content TEXT NOT NULL, tags TEXT NOT NULL, source TEXT NOT NULL, authority INTEGER NOT NULL,
        importance REAL NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        namespace TEXT NOT NULL);
    CREATE VIRTUAL TABLE words USING fts5(content, content='memories', content_rowid='number',
        tokenize='porter unicode61');
    CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{dim}] distance_metric=cosine);
    CREATE TABLE bundle (part INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
"""
KINDS = {"meta": "table", "memories": "table", "words": "table", "vectors": "table", "bundle": "table"}


def create_file(path: Path, *, dim: int) -> apsw.Connection:
    """Return a new file with empty tables; written in one go, so nothing is kept to roll back to."""
    made = _with_vectors(apsw.Connection(str(path)))
    made.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    made.execute(TABLES.format(dim=int(dim)))
    return made


def open_file(path: Path) -> apsw.Connection:
    """Return a file to read. Raises apsw.Error when it is no database."""
    found = _with_vectors(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY))
    # Whoever made the file does not run SQL of his own here.
    found.execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
    return found


def _with_vectors(connection: apsw.Connection) -> apsw.Connection:
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    connection.enable_load_extension(False)
    return connection
