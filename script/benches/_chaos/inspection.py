"""What the product shows of itself once the faults are over: by its API, and of what no API shows by SQL."""

import hashlib
import re
import sqlite3
import time
from collections import Counter, defaultdict
from contextlib import closing, suppress
from typing import Any

import psycopg
from psycopg import sql

from novamem.database import OWNER

from .caller import Caller, Refused
from .ledger import BROKEN, BackedUp, Deleted, Finding, Forgotten, Ledger, Packed, Row, Sight
from .product import PROJECT, Product
from .workload import FRAGMENTS, MARKER

STATUSES = ["active", "superseded", "quarantined", "archived", "disputed"]
QUIET = 150.0  # seconds for chats to be kept and operations to end: a chat that failed twice waits for 80
WAITING = """
    SELECT (SELECT count(*) FROM memories_exchange)
        + (SELECT count(*) FROM memories_operation WHERE finished_at IS NULL AND key_id IS NOT NULL)
"""
UNINDEXED = """
    SELECT f.id FROM memories_fragment f LEFT JOIN memories_keywords k ON k.fragment_id = f.id
    WHERE k.fragment_id IS NULL AND f.status = 'active'
"""
VOTES = "SELECT fragment_id, ballot FROM conflicts_vote WHERE counted"
# Whatever can hold words, of every table that is not Postgres' own.
COLUMNS = """
    SELECT c.table_schema, c.table_name, c.column_name
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE t.table_type = 'BASE TABLE' AND c.table_schema NOT IN ('pg_catalog', 'information_schema')
        AND c.udt_name IN ('text', 'varchar', 'json', 'jsonb', 'tsvector', '_text', '_varchar', 'bytea')
"""


def inspect(product: Product, ledger: Ledger, *, quiet: float = QUIET, audited: bool = True) -> list[Finding]:
    """Return what of the ledger does not hold, and whether the audit chain is broken."""
    # Its own counts are nobody's operations.
    caller = Caller(product.url, product.keys["reviewer"], Ledger(), patience=QUIET, doubt=0.0)
    with caller, psycopg.connect(product.logins[OWNER], autocommit=True) as database:
        settle(database, quiet)
        findings = ledger.check(_look(product, caller, ledger, database))
    if ledger.server_errors:
        findings.append(Finding(BROKEN, "Answered", "any", f"why: {product.unhandled_errors()}"))
    return findings + (_proof(product) if audited else [])


def settle(database: psycopg.Connection[Any], quiet: float) -> None:
    """Wait for what ends by itself."""
    deadline = time.monotonic() + quiet
    while database.execute(WAITING).fetchone() != (0,) and time.monotonic() < deadline:
        time.sleep(0.2)


def _look(product: Product, caller: Caller, ledger: Ledger, database: psycopg.Connection[Any]) -> Sight:
    fragments = caller.listed(FRAGMENTS, status=STATUSES)
    operations = caller.listed("/api/v1/operations")
    places, claims, votes = defaultdict(list), defaultdict(list), defaultdict(Counter)
    for row in fragments:
        for mark in set(re.findall(MARKER, row["content"])):
            places[mark].append(row)
    for claim in caller.listed("/api/v1/claims"):
        claims[claim["subject"]].append(claim)
    for fragment, ballot in database.execute(VOTES):
        votes[str(fragment)][ballot] += 1
    started = _started(database)  # before anything is started here
    for fact in ledger.facts:
        if isinstance(fact, BackedUp):
            _read_again(caller, fact)
    gone = [fact for fact in ledger.facts if isinstance(fact, Forgotten)]
    marks = {fact.marker for fact in gone}
    marks |= {mark for fact in ledger.facts if isinstance(fact, Deleted) for mark in fact.markers}
    remains = _remains(database, marks)  # before anybody asks for them by name
    packs = {fact.id: _unpacked(caller, fact) for fact in ledger.facts if isinstance(fact, Packed)}
    return Sight(
        fragments={row["id"]: row for row in fragments},
        places=places,
        claims=claims,
        conflicts=_by_id(caller.listed("/api/v1/conflicts", status="all")),
        operations=_by_id(operations),
        started=started,
        backups=_by_id(caller.listed("/api/v1/backups")),
        unindexed={str(row[0]) for row in database.execute(UNINDEXED)},
        votes=votes,
        remains=remains,
        found={fact.marker for fact in gone if _is_found(caller, fact)},
        revived={fact.marker for fact in gone if _may_return(caller, fact)},
        packs={pack: found for pack, found in packs.items() if found},
        projects={str(row[0]) for row in database.execute("SELECT name FROM memories_project")},
        files={path.name for path in product.backups.glob("*")},
    )


def _unpacked(caller: Caller, fact: Packed) -> tuple[str, int] | None:
    """Return the SHA-256 of a pack's file and how many memories are in it, -1 where nothing can be read of it."""
    file = caller.read(f"/api/v1/packs/{fact.id}/download")
    if file is None:
        return None
    with closing(sqlite3.connect(":memory:")) as pack:
        try:
            pack.deserialize(file)
            (number,) = pack.execute("SELECT count(*) FROM memories").fetchone()
        except sqlite3.DatabaseError:
            number = -1
    return hashlib.sha256(file).hexdigest(), number


def _read_again(caller: Caller, fact: BackedUp) -> None:
    """Have a backup read to its end, as its file lies there now."""
    with suppress(Refused):
        caller.ended(caller.tell("verify", "POST", f"/api/v1/backups/{fact.id}/verify", {}))


def _by_id(rows: list[Row]) -> dict[str, Row]:
    return {row["id"]: row for row in rows}


def _started(database: psycopg.Connection[Any]) -> Counter[tuple[str, str]]:
    """Return how many operations keys started, by kind and what they are about."""
    asked = """SELECT kind, coalesce(options ->> 'backup_id', options -> 'namespaces' ->> 0, n.name)
        FROM memories_operation o LEFT JOIN memories_namespace n ON n.id = o.namespace_id WHERE o.key_id IS NOT NULL"""
    return Counter((str(kind), str(about)) for kind, about in database.execute(asked))


def _remains(database: psycopg.Connection[Any], marks: set[str]) -> dict[str, set[str]]:
    """Return by marker the columns of any table that hold it still."""
    found = defaultdict(set)
    for schema, table, column in database.execute(COLUMNS).fetchall():
        statement = sql.SQL("SELECT DISTINCT (regexp_matches({}::text, {}, 'g'))[1] FROM {}").format(
            sql.Identifier(column), MARKER, sql.Identifier(schema, table)
        )
        for (mark,) in database.execute(statement):
            if mark in marks:
                found[mark].add(f"{table}.{column}")
    return found


def _is_found(caller: Caller, fact: Forgotten) -> bool:
    answer = caller.ask("/api/v1/search", {"namespace": fact.namespace, "query": fact.content, "floor": 0})
    return any(fact.marker in hit["content"] for hit in (answer or {}).get("results", []))


def _may_return(caller: Caller, fact: Forgotten) -> bool:
    """Return whether somebody of no more authority may say it again there."""
    try:
        caller.tell("store", "POST", FRAGMENTS, {"namespace": fact.namespace, "content": fact.content})
    except Refused:
        return False
    return True


def _proof(product: Product) -> list[Finding]:
    done = product.manage("audit", "verify", "--project", PROJECT)
    out, err = done.communicate()
    return [Finding(BROKEN, "AuditChain", "audit", (out + err)[-600:])] if done.returncode else []
