"""Faults of the product itself, planted from outside, each of which the checker has to find.

Some are at work while clients write (`plant/planted.py`, triggers); others leave in the database what such a fault
would leave there.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import psycopg

from novamem.database import OWNER

from .arena import Arena
from .inspection import inspect, settle
from .ledger import BROKEN, DOUBLED, HALF_DONE, LOST, RESURRECTED, BackedUp, Batch, Fact, Finding, Ledger, Packed
from .workload import Workload

REFUSED = "refused"  # by the database itself
PATIENCE, NEVER = 60.0, 8.0  # seconds for an operation, and for one that never ends
COPY = "INSERT INTO {0} ({{columns}}) SELECT {{given}} FROM {0} f WHERE f.{1} = %(id)s"
LAST_ANSWER = """INSERT INTO memories_repeatedrequest ({columns})
    SELECT {given} FROM memories_repeatedrequest f ORDER BY f.created_at DESC LIMIT 1"""
AGAIN = """INSERT INTO memories_fragment ({columns})
    SELECT {given} FROM memories_fragment f JOIN memories_namespace n ON n.id = f.namespace_id
    WHERE n.name = %(namespace)s AND f.content LIKE '%%' || %(marker)s || '%%' LIMIT 1"""
ELSEWHERE = """INSERT INTO memories_fragment ({columns})
    SELECT {given} FROM memories_fragment f JOIN memories_namespace n ON n.id = f.namespace_id
    WHERE n.name LIKE 'chaos:%%' ORDER BY f.id DESC LIMIT 1"""
ONE_OF = """DELETE FROM memories_fragment f USING memories_namespace n
    WHERE n.id = f.namespace_id AND n.name = %(namespace)s AND f.content LIKE '%%' || %(marker)s || '%%'"""
KEPT_WORDS = """
    CREATE TABLE chaos_words (words text);
    GRANT INSERT ON chaos_words TO PUBLIC;
    CREATE FUNCTION chaos_keep() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO chaos_words VALUES (NEW.content); RETURN NEW; END';
    CREATE TRIGGER chaos_keep AFTER INSERT ON memories_fragment FOR EACH ROW EXECUTE FUNCTION chaos_keep()
"""
KEEPING_WORDS = (
    KEPT_WORDS,
    "DROP TRIGGER chaos_keep ON memories_fragment; DROP FUNCTION chaos_keep; DROP TABLE chaos_words",
)
NO_EXCHANGE = """
    CREATE FUNCTION chaos_drop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER chaos_drop BEFORE INSERT ON memories_exchange FOR EACH ROW EXECUTE FUNCTION chaos_drop()
"""
FORGED = """
    ALTER TABLE memories_fragmentevent DISABLE TRIGGER USER;
    UPDATE memories_fragmentevent SET authority = authority {} 1 WHERE pgh_id = (
        SELECT min(pgh_id) FROM memories_fragmentevent e JOIN memories_project p ON p.id = e.project_id
        WHERE p.name = 'chaos');
    ALTER TABLE memories_fragmentevent ENABLE TRIGGER USER
"""
FIRST_SEAL = """DELETE FROM memories_seal WHERE id = (
    SELECT s.id FROM memories_seal s JOIN memories_project p ON p.id = s.project_id
    WHERE p.name = 'chaos' ORDER BY s.number LIMIT 1)"""


@dataclass(frozen=True, slots=True)
class Plant:
    """One planted fault: what it is, the story that meets it, and the check and verdict that have to find it."""

    name: str
    story: str
    check: str
    verdict: str
    operation: str = ""  # of the fact that is spoilt, where a story keeps several
    live: str = ""  # at work in the product's processes
    sql: str = ""  # what it leaves in the database of a fact, by whose fields it is filled in
    trigger: tuple[str, str] | None = None  # at work in the database, and how it goes
    repeats: bool = False  # every POST is told twice, as if its answer had been lost
    file: bool = False  # it spoils the file of a backup or a pack


STATUS = "UPDATE memories_fragment SET status = '{}' WHERE id = %({})s"
PLANTS = [
    Plant("answered before the commit", "store", "Stored", LOST, live="no commit"),
    Plant("answer to a key not kept", "store", "Stored", DOUBLED, live="no record", repeats=True),
    Plant("two answers to a key", "store", "Constraint", REFUSED, sql=LAST_ANSWER),
    Plant(
        "words not indexed",
        "store",
        "Stored",
        HALF_DONE,
        sql="DELETE FROM memories_keywords WHERE fragment_id = %(id)s",
    ),
    Plant("row of a batch dropped", "batch", "Batch", HALF_DONE, sql="DELETE FROM memories_fragment WHERE id = %(id)s"),
    Plant("batch dropped", "batch", "Batch", LOST, sql="DELETE FROM memories_fragment WHERE id = ANY(%(ids)s)"),
    Plant(
        "change lost",
        "patch",
        "Stored",
        LOST,
        sql="UPDATE memories_fragment SET content = 'Former ' || %(marker)s, revision = 2 WHERE id = %(id)s",
    ),
    Plant(
        "change made twice",
        "patch",
        "Stored",
        DOUBLED,
        sql="UPDATE memories_fragment SET revision = 4 WHERE id = %(id)s",
    ),
    Plant(
        "vote counted twice",
        "vote",
        "Stored",
        DOUBLED,
        sql="UPDATE memories_fragment SET reinforcements = 2 WHERE id = %(id)s",
    ),
    Plant("vote cast twice", "vote", "Constraint", REFUSED, sql=COPY.format("conflicts_vote", "fragment_id")),
    Plant("vote lost", "vote", "Stored", LOST, sql="DELETE FROM conflicts_vote WHERE fragment_id = %(id)s"),
    Plant(
        "forgotten text kept in a search table",
        "forget",
        "Forgotten",
        RESURRECTED,
        trigger=KEEPING_WORDS,
    ),
    Plant("forgotten text stands again", "forget", "Forgotten", RESURRECTED, sql=ELSEWHERE),
    Plant(
        "fingerprint of a forgotten text dropped",
        "forget",
        "Forgotten",
        RESURRECTED,
        sql="DELETE FROM memories_erasure",
    ),
    Plant(
        "former value believed again",
        "claim",
        "Believed",
        LOST,
        sql=STATUS.format("superseded", "winner") + "; " + STATUS.format("active", "loser"),
    ),
    Plant("both values believed", "claim", "Constraint", REFUSED, sql=STATUS.format("active", "loser")),
    Plant("decision for one side only", "resolve", "Believed", HALF_DONE, sql=STATUS.format("quarantined", "winner")),
    Plant(
        "decision forgotten",
        "resolve",
        "Believed",
        LOST,
        sql="UPDATE conflicts_pendingconflict SET resolution = '', resolved_at = NULL WHERE id = %(conflict)s",
    ),
    Plant("operation never ended", "consolidate", "Finished", HALF_DONE, live="no end"),
    Plant("operation never taken", "consolidate", "Finished", HALF_DONE, live="no claim"),
    Plant("operation dropped", "consolidate", "Finished", LOST, sql="DELETE FROM memories_operation WHERE id = %(id)s"),
    Plant(
        "operation failed in the end",
        "consolidate",
        "Finished",
        LOST,
        sql="UPDATE memories_operation SET state = 'failed' WHERE id = %(id)s",
    ),
    Plant(
        "operation started twice",
        "consolidate",
        "Finished",
        DOUBLED,
        sql=COPY.format("memories_operation", "id"),
    ),
    Plant(
        "consolidation taken back",
        "consolidate",
        "Merged",
        LOST,
        sql="UPDATE memories_fragment SET status = 'active' WHERE id = ANY(%(both)s)",
    ),
    Plant(
        "consolidation in part",
        "consolidate",
        "Merged",
        HALF_DONE,
        sql="DELETE FROM memories_fragment WHERE id = %(first)s",
    ),
    Plant("fork that copies nothing", "branch", "Holds", LOST, "fork", live="no copy"),
    Plant("fork in part", "branch", "Holds", HALF_DONE, "fork", sql=ONE_OF),
    Plant("merge in part", "branch", "Holds", HALF_DONE, "merge", sql=ONE_OF),
    Plant("merge applied twice", "branch", "Holds", DOUBLED, "merge", sql=AGAIN),
    Plant("undo of a merge in part", "unmerge", "Undone", HALF_DONE, sql=ONE_OF),
    Plant("undo of a merge that does nothing", "unmerge", "Undone", LOST, live="no undo"),
    Plant("undo of a consolidation that does nothing", "unconsolidate", "Apart", LOST, live="no undo"),
    Plant(
        "undo of a consolidation in part",
        "unconsolidate",
        "Apart",
        HALF_DONE,
        sql="DELETE FROM memories_fragment WHERE id = %(first)s",
    ),
    Plant("restore in part", "restore", "Holds", HALF_DONE, "restore", sql=ONE_OF),
    Plant(
        "restore without claims",
        "restore",
        "Believed",
        LOST,
        sql="DELETE FROM memories_claim WHERE fragment_id = %(winner)s",
    ),
    Plant("backup not listed", "restore", "BackedUp", LOST, sql="DELETE FROM memories_backup WHERE id = %(id)s"),
    Plant("backup cut short", "restore", "BackedUp", HALF_DONE, file=True),
    Plant("pack lost", "pack", "Packed", LOST, sql="DELETE FROM memories_operation WHERE id = %(id)s"),
    Plant("pack cut short", "pack", "Packed", HALF_DONE, file=True),
    Plant("files of a deleted project kept", "project", "Deleted", HALF_DONE, live="no removal"),
    Plant("text of a deleted project kept", "project", "Deleted", RESURRECTED, trigger=KEEPING_WORDS),
    Plant(
        "chat not kept",
        "chat",
        "Holds",
        LOST,
        trigger=(NO_EXCHANGE, "DROP TRIGGER chaos_drop ON memories_exchange; DROP FUNCTION chaos_drop"),
    ),
    Plant("chat kept twice", "chat", "Holds", DOUBLED, sql=AGAIN),
    Plant("history rewritten", "store", "AuditChain", BROKEN, trigger=(FORGED.format("+"), FORGED.format("-"))),
    Plant("seal skipped", "store", "AuditChain", BROKEN, sql=FIRST_SEAL),  # the last one: nothing mends it
]


def played(arena: Arena, plant: Plant) -> list[Finding]:
    """Return what the checker finds of a planted fault; none is left at work."""
    with ExitStack() as stack:
        database = stack.enter_context(psycopg.connect(arena.product.logins[OWNER], autocommit=True))
        if plant.check == "AuditChain":
            arena.product.manage("audit", "seal").communicate()
        if plant.trigger:
            database.execute(plant.trigger[0])
            stack.callback(database.execute, plant.trigger[1])
        if plant.live:
            arena.product.plants.write_text(plant.live)
            stack.callback(arena.product.plants.unlink)
        doubt = 1.0 if plant.repeats else 0.0
        patience = NEVER if plant.verdict == HALF_DONE and plant.live else PATIENCE
        load = Workload(arena.product, stories=[plant.story], patience=patience, doubt=doubt)
        ledger = load.once()
        if load.faults and not plant.live:
            return [Finding("not played", "Story", plant.story, fault) for fault in load.faults]
        try:
            _spoil(database, plant, ledger)
        except psycopg.errors.IntegrityError as error:
            return [Finding(REFUSED, "Constraint", plant.story, str(error.diag.constraint_name))]
        if plant.file:
            _cut_short(arena, database, ledger)
        return inspect(arena.product, ledger, quiet=patience, audited=plant.check == "AuditChain")


def is_found(plant: Plant, findings: list[Finding]) -> bool:
    """Return whether the check that has to find it did."""
    return any((one.check, one.verdict) == (plant.check, plant.verdict) for one in findings)


def _spoil(database: psycopg.Connection[Any], plant: Plant, ledger: Ledger) -> None:
    if not plant.sql:
        return
    settle(database, PATIENCE)
    (fact, *_) = [one for one in ledger.facts if _is_about(plant, one)]
    statement = plant.sql
    if "{columns}" in statement:
        table = statement.split()[2]
        columns, given = _columns(database, table, content=plant.sql == ELSEWHERE)
        statement = statement.format(columns=columns, given=given)
    changed = [database.execute(part, _fields(fact)).rowcount for part in statement.split("; ")]
    assert all(changed), f"{plant.name}: nothing was there to be spoilt"


def _is_about(plant: Plant, fact: Fact) -> bool:
    named = plant.check in ("AuditChain", "Constraint") or type(fact).__name__ == plant.check
    return named and plant.operation in ("", fact.operation)


def _fields(fact: Fact) -> dict[str, Any]:
    """Return what a statement may name of a fact."""
    fields = {name: getattr(fact, name) for name in fact.__slots__}
    if isinstance(fact, Batch):
        fields |= {"id": fact.items[0].id, "ids": [item.id for item in fact.items]}
    elif "markers" in fields:
        fields["marker"] = fields["markers"][0]
    elif "ids" in fields:
        fields |= {"both": list(fields["ids"]), "first": fields["ids"][0]}
    return {name: value for name, value in fields.items() if isinstance(value, str | list) and name != "items"}


def _columns(database: psycopg.Connection[Any], table: str, *, content: bool) -> tuple[str, str]:
    """Return a table's columns, and what a copy of a row of it has in them."""
    asked = "SELECT column_name FROM information_schema.columns WHERE table_name = %s AND is_generated = 'NEVER'"
    names = [name for (name,) in database.execute(asked, [table])]
    other = {"id": "gen_random_uuid()", **({"content": "%(content)s"} if content else {})}
    return ", ".join(names), ", ".join(other.get(name, f"f.{name}") for name in names)


def _cut_short(arena: Arena, database: psycopg.Connection[Any], ledger: Ledger) -> None:
    (fact, *_) = [one for one in ledger.facts if isinstance(one, BackedUp | Packed)]
    name = f"{fact.id}.pack"
    if isinstance(fact, BackedUp):
        ((name,),) = database.execute("SELECT file FROM memories_backup WHERE id = %s", [fact.id])
    file = arena.product.backups / name
    file.write_bytes(file.read_bytes()[:-40])
