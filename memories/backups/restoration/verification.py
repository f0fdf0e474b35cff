"""Verification: a backup is read to its end (verify), and restored where nobody sees it (drill)."""

import datetime
import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from memories import access, failpoints
from memories.access import NotFound, Principal
from memories.backups import storage
from memories.backups.bundle import BrokenBundle, BundleLine, BundleReader, chain_of, records
from memories.backups.restoration import auxiliary_tables, diff, erasure_filter, insertion, staging_tables
from memories.backups.restoration import pipeline as restoration
from memories.errors import NovaError
from memories.models import Backup, Namespace, Operation
from memories.models.backups import SOUND
from memories.models.sql import execute, fetch
from memories.models.table_spec import specs, table_of
from memories.operations import BadOptions, Options, Progress

# What a drill restores into: temporary tables that stand in front of the real ones until its transaction is undone.
SHADOWED = tuple(table_of(label) for label, spec in specs().items() if spec.travels or spec.archived)
BELOW = ("memories_revision", "conflicts_vote", "memories_clusterlabel", "memories_link")
KEYS = {
    "memories_access": "fragment_id",
    "memories_origin": "fragment_id",
    "memories_episodemember": "episode_id, fragment_id",
    "memories_embedding": "namespace_id, fragment_id, model_id",
}


class DrillFailed(NovaError):
    """What was restored is not what the backup holds."""

    code = "drill_failed"

    def __init__(self, text: dict[str, Any]) -> None:
        super().__init__("what was restored is not what the backup holds")
        self.told = text

    @property
    def summary(self) -> dict[str, Any]:
        """Return what differs."""
        return self.told


class FileChanged(NovaError):
    """The file is not the one that was written."""

    code = "file_changed"
    is_kept = True


UNSOUND = (
    BrokenBundle,
    FileChanged,
    DrillFailed,
    storage.FileMissing,
    restoration.WrongProject,
    restoration.BaseMissing,
)


def check_proof(options: Options) -> None:
    """Raise BadOptions unless they name a backup."""
    if set(options) != {"backup_id"}:
        raise BadOptions("options", "Give backup_id.")
    try:
        uuid.UUID(str(options["backup_id"]))
    except ValueError as error:
        raise BadOptions("backup_id", "Give the id of a backup.") from error


def verify(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Read a backup and all that it goes on from: checksums, signatures, count, order, every record.

    Raise BrokenBundle, FileMissing, FileChanged; the backup's row says what was found.
    """
    now = operation.started_at or operation.created_at
    chain = _chain(principal, operation)
    with _verdict(principal, chain[-1], "verified_at", "verdict", now=now):
        done = 0
        for row in chain:
            for _ in _read(row, now=now):
                done += 1
                if done % records.BATCH == 0:
                    progress.save(stage="verifying", done=done, total=max(done, sum(each.records for each in chain)))
                    progress.check()
    return {"backup_id": str(chain[-1].id), "records": done, "files": len(chain), "signer": chain[-1].signer}


def _read(row: Backup, *, now: datetime.datetime) -> Iterator[BundleLine]:
    """Return every record of a file that is the one that was written. Raise BrokenBundle, FileMissing, FileChanged."""
    digest = hashlib.sha256()
    with storage.open_file(row.file) as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest() != row.sha256:
        raise FileChanged("the file has another SHA-256 than when it was written")
    with storage.open_decrypted(row.file) as file:
        reader = BundleReader(file, now=now)
        yield from reader.lines()
    if reader.signer and reader.signer != row.signer:
        raise BrokenBundle(1, "another instance signed it")


def drill(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Restore a backup into temporary tables by the same SQL, and compare the digest of what comes out.

    Of a chain the memories and their claims are compared, the latest that the files say of each, in any order. Raises
    DrillFailed, BrokenBundle, FileMissing.
    """
    now = operation.started_at or operation.created_at
    chain = _chain(principal, operation)
    row = chain[-1]
    with _verdict(principal, row, "drilled_at", "drill_verdict", now=now), staging_tables.staging_tables():
        read = restoration.stage(principal, chain, operation, progress, now=now, as_it_is=True)
        failpoints.reach("drill.staged")
        with progress.alive(), access.enter(principal, why="drill"), transaction.atomic():
            _create_shadow_tables()
            _restore(principal, read, progress)
            for table in SHADOWED:
                execute(f"ANALYZE pg_temp.{table}", [])  # nobody else tells the planner of them
            found = _compare(principal, read, row)
            transaction.set_rollback(True)
        wanted = _expected_records(chain, now=now)
        if found != wanted:
            raise DrillFailed({"found": found, "wanted": wanted})
    return {"backup_id": str(row.id), **found}


def _chain(principal: Principal, operation: Operation) -> list[Backup]:
    with access.enter(principal, why="backup"):
        row = Backup.objects.within(principal.project_id).filter(id=operation.options["backup_id"]).first()
        if row is None:
            raise NotFound("backup")
        return chain_of(row)


@contextmanager
def _verdict(principal: Principal, row: Backup, when: str, what: str, *, now: datetime.datetime) -> Iterator[None]:
    """Keeps in the row how it ended; nothing when it was broken off."""

    def keep(verdict: str) -> None:
        with access.enter(principal, why="backup"):
            Backup.objects.within(principal.project_id).filter(id=row.id).update(**{when: now, what: verdict})

    try:
        yield
    except UNSOUND as error:
        keep(error.code)
        raise
    keep(SOUND)


def _create_shadow_tables() -> None:
    """Empty temporary tables in front of the real ones. Only in a transaction that is undone."""
    for table in SHADOWED:
        key = KEYS.get(table, "id")
        execute(
            f"CREATE TEMP TABLE {table} (LIKE public.{table} INCLUDING CONSTRAINTS INCLUDING DEFAULTS"
            f" INCLUDING GENERATED, PRIMARY KEY ({key})) ON COMMIT DROP",
            [],
        )
    for table in BELOW:
        execute(f"CREATE INDEX ON pg_temp.{table} (fragment_id)", [])
    for column in set(specs()["memories.Fragment"].made) - {"change"}:
        execute(f"ALTER TABLE pg_temp.memories_fragment ALTER COLUMN {column} SET DEFAULT ''", [])


def _restore(principal: Principal, read: restoration.Read, progress: Progress) -> None:
    project_id = principal.project_id
    insertion.insert_owners()
    insertion.insert_erasures()
    auxiliary_tables.digest_predicates(project_id)
    _put_sources(principal, read)
    for done, (name, there) in enumerate(read.ids):
        progress.note(stage="drill", done=done, total=len(read.ids))
        here = insertion.ensure_namespace(principal, read.stage.namespaces[name])
        auxiliary_tables.insert_predicates(there=there, here=here)
        counts = diff.judge(project_id, there=there, here=here)
        erasure_filter.drop(project_id, there=there, here=here)
        insertion.digest_claims(project_id, there=there, here=here)
        insertion.write(project_id, here=here, held_back=[], counts=counts, shadow=True)
        auxiliary_tables.insert_auxiliary_rows(project_id, there=there, here=here)
        if rejected := {key: counts[key] for key in ("rejected", "blocked_by_erasure") if counts[key]}:
            raise DrillFailed(rejected)
    for name, there in read.ids:
        here = insertion.ensure_namespace(principal, read.stage.namespaces[name])
        auxiliary_tables.insert_origins(project_id, there=there, here=here)


def _put_sources(principal: Principal, read: restoration.Read) -> None:
    """What a branch was forked from, where the backup leaves it out."""
    rows = read.stage.namespaces
    absent = {row["forked_from"] for row in rows.values() if row["forked_from"]} - rows.keys()
    for name in absent:
        Namespace.objects.ensure(project_id=principal.project_id, name=name)


def _compare(principal: Principal, read: restoration.Read, row: Backup) -> dict[str, Any]:
    names = list(read.stage.namespaces)
    places_ = [here for (here,) in fetch("SELECT id FROM memories_namespace WHERE name = ANY (%s)", [names])]
    selection = records.Selection(principal.project_id, tuple(places_), embeddings=row.include_embeddings)
    if row.base_id is not None:
        lines = (record.line for record in records.read(selection) if record.kind == "fragment")
        return _sum(json.loads(line) for line in lines)
    kinds = records.KINDS if row.policy == "full" else records.NEEDED
    return _digest(record.line for record in records.read(selection) if record.kind in kinds)


def _expected_records(chain: list[Backup], *, now: datetime.datetime) -> dict[str, Any]:
    row = chain[-1]
    if row.base_id is not None:
        return _sum(_latest(chain, now=now))
    return _digest(line.raw for line in _read(row, now=now))


def _latest(chain: list[Backup], *, now: datetime.datetime) -> Iterator[dict[str, Any]]:
    """Return what the chain says of each fragment that is there at its end: the last file that names it counts."""
    named: set[str] = set()
    for row in reversed(chain):
        own_claims: set[str] = set()
        for line in _read(row, now=now):
            if line.kind == "gone":
                own_claims.update(line.told["ids"])
            elif line.kind == "fragment" and line.told["row"]["id"] not in named:
                own_claims.add(line.told["row"]["id"])
                yield line.told
        if row.base_id is not None:  # of the first nobody asks any more
            named |= own_claims


def _sum(fragments: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return how many, and the sum of the SHA-256 of each with its claim: the same in any order."""
    total, count = 0, 0
    for record in fragments:
        parts = {name: record[name] for name in ("row", "claim", "claims") if name in record}
        core = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        total += int.from_bytes(hashlib.sha256(core.encode()).digest())
        count += 1
    return {"fragments": count, "sha256": f"{total % (1 << 256):064x}"}


def _digest(lines: Iterator[bytes]) -> dict[str, Any]:
    digest, count = hashlib.sha256(), 0
    for line in lines:
        digest.update(line + b"\n")
        count += 1
    return {"records": count, "sha256": digest.hexdigest()}
