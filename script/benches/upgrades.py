"""Upgrades: how long each migration takes on a release's database grown large, and how long readers and writers wait.

script/bench upgrades                                         # the newest dump of a release, 500,000 fragments
script/bench upgrades --fragments 50000 --json
script/bench upgrades --from memories.0022_rank_of_a_decision # first goes back to that migration
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from novamem import database, dumps, env

DUMPS = env.ROOT / "tests/upgrades"
PAUSE, REST, BETWEEN, BOUND = 0.02, 5.0, 1.0, 1.0  # seconds
NEW = "gen_random_uuid()"
# What becomes of the columns of a copied row by table; x is the row that is copied, c.copy the new fragment's id.
COPIED: dict[str, dict[str, str]] = {
    "memories_fragment": {"id": "c.copy", "content": "x.content || ' ' || c.number", "key": "''"},
    "memories_claim": {"id": NEW, "fragment_id": "c.copy", "key_digest": "sha256(uuid_send(c.copy))"},
    "memories_keywords": {"fragment_id": "c.copy"},
    "memories_embedding": {"fragment_id": "c.copy"},
    "memories_mention": {"fragment_id": "c.copy"},
}
COLUMNS = """
    SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""
CHOSEN = """
    CREATE TEMPORARY TABLE copies AS SELECT f.id AS original, gen_random_uuid() AS copy, n AS number
    FROM generate_series(1, %(fragments)s) AS n, memories_fragment f
    WHERE f.status = 'active' AND f.project_id = %(project)s
    LIMIT greatest(0, %(fragments)s - (SELECT count(*) FROM memories_fragment))
"""
READ = """
    SELECT {columns}, p.name, n.name FROM memories_fragment x
    JOIN memories_project p ON p.id = x.project_id
    JOIN memories_namespace n ON n.project_id = x.project_id AND n.id = x.namespace_id
    WHERE x.project_id = %(project)s AND x.id = %(one)s
"""
HELD = "SELECT p.id FROM memories_project p, memories_namespace n, memories_fragment f LIMIT 1"
UPDATE = "UPDATE memories_fragment SET importance = random() WHERE project_id = %(project)s AND id = %(one)s"


@dataclass(slots=True)
class Waits:
    """When statements of one client were sent and how many seconds each took, and which failed."""

    taken: list[tuple[float, float]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def longest(self, begin: float, end: float) -> float:
        """Return the longest wait, in seconds, of those that were for the most part within that time."""
        return max((seconds for sent, seconds in self.taken if begin <= sent + seconds / 2 < end), default=0.0)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of an upgrade: its seconds, and the longest that a read and a write waited meanwhile."""

    name: str
    seconds: float
    read: float
    write: float


@dataclass(frozen=True, slots=True)
class Report:
    """An upgrade, part by part."""

    release: str
    start: str
    fragments: int
    spans: list[Span]
    failures: list[str]

    @property
    def passed(self) -> bool:
        """Whether nobody waited too long and no statement failed."""
        return not self.failures and max(max(span.read, span.write) for span in self.spans) <= BOUND


def grow(connection: psycopg.Connection[Any], project: str, fragments: int) -> None:
    """Copy the project's active fragments, with what belongs to each, until there are so many."""
    with connection.transaction():
        connection.execute("SELECT set_config('nova.project', %s, true)", [project])
        connection.execute(CHOSEN, {"fragments": fragments, "project": project})
        # It holds each word against what was forgotten; the others, which write history and queues, stay.
        connection.execute(b"ALTER TABLE memories_fragment DISABLE TRIGGER fragment_before")
        for table, changed in COPIED.items():
            connection.execute(_copy(connection, table, changed, "copies"))
        connection.execute(b"ALTER TABLE memories_fragment ENABLE TRIGGER fragment_before")
    connection.execute("VACUUM ANALYZE")


def _copy(connection: psycopg.Connection[Any], table: str, changed: Mapping[str, str], source: str) -> bytes:
    columns = _columns(connection, table)
    key = "id" if table == "memories_fragment" else "fragment_id"
    values = ", ".join(changed.get(column, f"x.{column}") for column in columns)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} "
        f"FROM {source} AS c JOIN {table} x ON x.{key} = c.original"
    ).encode()


def _columns(connection: psycopg.Connection[Any], table: str) -> list[str]:
    row = connection.execute(COLUMNS, [table]).fetchone()
    assert row
    return list(row[0])


def serve(
    url: str, statements: Sequence[bytes], project: str, ids: Sequence[str], waits: Waits, end: threading.Event
) -> None:
    """Send the statements in turn, each for one of the ids, as a server of the former release does, until the end."""
    chance = random.Random(1)
    with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
        connection.execute("SELECT set_config('nova.project', %s, false)", [project])
        while not end.wait(PAUSE):
            statement = statements[len(waits.taken) % len(statements)]
            sent = time.time()
            try:
                connection.execute(statement, {"project": project, "one": chance.choice(ids)})
            except psycopg.Error as error:
                waits.failures.append(f"{type(error).__name__}: {error}")
                if connection.closed:
                    return
            waits.taken.append((sent, time.time() - sent))


def hold(url: str, project: str, seconds: float, end: threading.Event) -> None:
    """Keep a transaction open that has read, as a backup does, for so long; then none for a second; until the end."""
    with psycopg.connect(url, autocommit=True) as connection:
        while not end.is_set():
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                connection.execute("SELECT set_config('nova.project', %s, true)", [project])
                connection.execute(HELD)
                end.wait(seconds)
            end.wait(BETWEEN)


def measure(server: database.Logins, *, release: str, fragments: int, start: str = "", held: float = 0) -> Report:
    """Upgrade a grown database of the release, from migration `start` where it is given, while it is read and written.

    Transactions stay open for `held` seconds meanwhile.
    """
    logins = database.prepare_database(server, "upgrades")
    try:
        dumps.restore(logins.owner, DUMPS / release / "database.dump")
        with psycopg.connect(logins.owner, autocommit=True) as connection:
            connection.execute(b"ALTER DATABASE upgrades RESET ALL")  # what makes tests fast and impatient
            (project,) = connection.execute("SELECT project_id::text FROM memories_fragment LIMIT 1").fetchone() or (
                "",
            )
            grow(connection, project, fragments)
        if start:
            app, _, name = start.partition(".")
            _run(logins, "manage.py", "migrate", app, name, "--database", "owner", "--verbosity", "0")
        return _measured(logins, project, release, start, held)
    finally:
        database.drop_database(server, "upgrades")


def _measured(logins: database.Logins, project: str, release: str, start: str, held: float) -> Report:
    with psycopg.connect(logins.owner, autocommit=True) as connection:
        found = connection.execute("SELECT id::text FROM memories_fragment WHERE project_id = %s", [project])
        ids = [each for (each,) in found]
        columns = ", ".join(f"x.{column}" for column in _columns(connection, "memories_fragment"))
        copy = _copy(
            connection,
            "memories_fragment",
            COPIED["memories_fragment"],
            f"(SELECT %(one)s::uuid AS original, {NEW} AS copy, random() AS number)",
        )
        before = _applied(connection)
        reads, writes, end = Waits(), Waits(), threading.Event()
        clients = [
            threading.Thread(target=serve, args=(logins.app, statements, project, ids, waits, end))
            for statements, waits in (
                ([READ.format(columns=columns).encode()], reads),
                ([copy, UPDATE.encode()], writes),
            )
        ]
        if held:
            clients.append(threading.Thread(target=hold, args=(logins.app, project, held, end)))
        begun = time.time()
        for client in clients:
            client.start()
        try:
            time.sleep(REST)
            upgrade = time.time()
            dumped = _upgrade(logins)
        finally:
            done = time.time()
            end.set()
            for client in clients:
                client.join()
        ends = [(name, at) for name, at in _applied(connection).items() if name not in before]
    parts = [("at rest", upgrade), ("logins, rights, dump", dumped), *ends, ("what follows", done)]
    spans = [
        Span(name, until - since, reads.longest(since, until), writes.longest(since, until))
        for (name, until), since in zip(parts, [begun, *(until for _, until in parts)], strict=False)
    ]
    return Report(release, start, len(ids), spans, reads.failures + writes.failures)


def _upgrade(logins: database.Logins) -> float:
    """Return when the dump before the first migration was made."""
    with tempfile.TemporaryDirectory(dir=env.load().NOVAMEM_DATA_DIR) as data_dir:
        _run(logins, "-m", "novamem.upgrade", NOVAMEM_DATA_DIR=data_dir)
        return max((path.stat().st_mtime for path in Path(data_dir).glob("dumps/*.dump")), default=time.time())


def _run(logins: database.Logins, *words: str, **settings: str) -> None:
    given = {**os.environ, **logins.environment(), "PYTHONPATH": str(env.ROOT), **settings}
    subprocess.run([sys.executable, *words], env=given, cwd=env.ROOT, check=True, stdout=subprocess.DEVNULL)


def _applied(connection: psycopg.Connection[Any]) -> dict[str, float]:
    found = connection.execute(
        "SELECT app || '.' || name, extract(epoch FROM applied) FROM django_migrations ORDER BY id"
    )
    return {name: float(at) for name, at in found}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fragments", type=int, default=500_000)
    parser.add_argument("--release", default=max(path.parent.name for path in DUMPS.glob("*/database.dump")))
    parser.add_argument("--from", dest="start", default="", help="the migration to go back to first: app.name")
    parser.add_argument("--open", type=float, default=10, dest="held", help="seconds that other transactions stay open")
    parser.add_argument("--json", action="store_true", dest="as_json")
    given = parser.parse_args()
    server = env.load().own_database()
    assert server
    report = measure(server, release=given.release, fragments=given.fragments, start=given.start, held=given.held)
    if given.as_json:
        print(json.dumps(asdict(report), indent=1))
        return not report.passed
    print(f"{report.fragments:,} fragments of {report.release}{report.start and f', back to {report.start}'}\n")
    print("| part | seconds | longest read, ms | longest write, ms |\n|---|---|---|---|")
    for span in report.spans:
        print(f"| {span.name} | {span.seconds:.2f} | {span.read * 1000:,.0f} | {span.write * 1000:,.0f} |")
    for failure in report.failures:
        print(f"failed: {failure}")
    return not report.passed


if __name__ == "__main__":
    sys.exit(main())
