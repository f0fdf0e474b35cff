"""Bundle writer: a snapshot of what is remembered becomes one signed file, whole or not at all."""

import datetime
import gzip
import hashlib
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Q

from memories import access, audit, failpoints
from memories.access import NotFound, Principal
from memories.backups import encryption, storage
from memories.backups.bundle import changes, fingerprint_keys, policies, records
from memories.backups.bundle.manifest import Footer, Manifest
from memories.backups.bundle.records import Record
from memories.backups.storage import size
from memories.errors import NovaError
from memories.models import Backup, Namespace, Operation, Project
from memories.models.enums import BackupOrigin, ExportPolicy
from memories.models.sql import execute, fetch, horizon
from memories.operations import BadOptions, Options, Progress

LEVEL = 4  # of gzip: twice as fast as its default, a tenth larger
MOST_RECIPIENTS = 20
ORIGINS = (BackupOrigin.ASKED, BackupOrigin.SCHEDULED, BackupOrigin.SYNC)
OPTIONS = {"policy", "namespaces", "include_embeddings", "base", "origin", "prove", "recipients"}


class RecordTooLong(NovaError):
    """A record is longer than any reader takes."""

    code = "record_too_long"

    def __init__(self, record: Record) -> None:
        self.kind, self.id = record.kind, json.loads(record.line)["row"]["id"]
        super().__init__(f"the {self.kind} {self.id} is longer than any reader takes")

    @property
    def summary(self) -> dict[str, Any]:
        """Return which record it is."""
        return {"kind": self.kind, "id": self.id}


@dataclass(frozen=True, slots=True)
class BackupRequest:
    """What a backup is to hold; without namespaces all of the project."""

    policy: str = ExportPolicy.FULL
    namespaces: tuple[str, ...] = ()
    include_embeddings: bool = False
    base: uuid.UUID | None = None
    origin: str = BackupOrigin.ASKED
    # Who can read it: public keys; empty for everybody who has the file.
    recipients: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: Options) -> "BackupRequest":
        """As an operation has it."""
        base = options.get("base")
        return cls(
            policy=options.get("policy", ExportPolicy.FULL),
            namespaces=tuple(options.get("namespaces") or ()),
            include_embeddings=options.get("include_embeddings", False),
            base=uuid.UUID(base) if base else None,
            origin=options.get("origin", BackupOrigin.ASKED),
            recipients=recipients_of(options),
        )


def recipients_of(options: Options) -> tuple[str, ...]:
    """Return whom a file is encrypted for: whom the options name, else BACKUP_RECIPIENTS; nobody of what is pushed."""
    if options.get("recipients") is not None:
        return tuple(options["recipients"])
    return () if options.get("origin") == BackupOrigin.SYNC else tuple(settings.BACKUP_RECIPIENTS)


def check_recipients(options: Options) -> None:
    """Raise BadOptions unless they are public keys."""
    wanted = options.get("recipients") or []
    if not isinstance(wanted, list) or len(wanted) > MOST_RECIPIENTS or not all(isinstance(one, str) for one in wanted):
        raise BadOptions("recipients", f"Give a list of at most {MOST_RECIPIENTS} public keys.")
    try:
        encryption.check_recipients(wanted)
    except encryption.BadRecipient as error:
        raise BadOptions("recipients", str(error)) from error


def check_backup(options: Options) -> None:
    """Raise BadOptions unless they are options that it knows."""
    check_recipients(options)
    if stray := set(options) - OPTIONS:
        raise BadOptions("options", f"Unknown: {', '.join(sorted(stray))}.")
    if options.get("policy", ExportPolicy.FULL) not in ExportPolicy.values:
        raise BadOptions("policy", f"Use one of: {', '.join(ExportPolicy.values)}.")
    names = options.get("namespaces") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadOptions("namespaces", "Give a list of names.")
    for name in ("include_embeddings", "prove"):
        if not isinstance(options.get(name, False), bool):
            raise BadOptions(name, "Give true or false.")
    if options.get("origin", BackupOrigin.ASKED) not in ORIGINS:
        raise BadOptions("origin", f"Use one of: {', '.join(ORIGINS)}.")
    if options.get("base") is not None:
        _check_base(options)


def _check_base(options: Options) -> None:
    try:
        uuid.UUID(str(options["base"]))
    except ValueError as error:
        raise BadOptions("base", "Give the id of a backup.") from error
    if options.get("policy", ExportPolicy.FULL) != ExportPolicy.FULL:
        raise BadOptions("base", "Only a full backup goes on from another.")


def refuse_missing(operation: Operation) -> None:
    """Raise BadOptions when a namespace or the base that a queued backup names is not there, or covers less."""
    request = BackupRequest.of(operation.options)
    try:
        _namespaces(operation.project_id, request)
    except NotFound as error:
        raise BadOptions("namespaces", f"There is no {error}.") from error
    try:
        _base(operation.project_id, request)
    except NotFound as error:
        raise BadOptions("base", "There is no such backup to go on from.") from error


def run_backup(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Run a backup; the report names it (`backup_id`)."""
    now = operation.started_at or operation.created_at
    row = make(principal, BackupRequest.of(operation.options), operation=operation, progress=progress, now=now)
    return {"backup_id": str(row.id), **backup_numbers(row)}


def backup_numbers(row: Backup) -> dict[str, Any]:
    """Return the numbers of a backup."""
    return {
        "file": row.file,
        "size": row.size,
        "sha256": row.sha256,
        "records": row.records,
        "counts": row.counts,
        "encrypted": row.encrypted,
    }


def backup_id(operation_id: uuid.UUID, origin: str) -> uuid.UUID:
    """Return the id of the backup that an operation makes."""
    return uuid.uuid5(operation_id, origin)


def make(
    principal: Principal, request: BackupRequest, *, operation: Operation, progress: Progress, now: datetime.datetime
) -> Backup:
    """Write the file, then its row. A second try of the same operation writes the same file again.

    So does one during which backups were purged: it may hold what was forgotten. Raise NotFound for a namespace or
    base that is not there, BadOptions for a base that covers less, WriteRefused, RecordTooLong.
    """
    which = backup_id(operation.id, request.origin)
    with storage.report_refusal():
        audit.seal(principal, now=now)
    while True:
        with access.enter(principal, why="backup"):
            rows = Backup.objects.within(principal.project_id)
            made: Backup | None = rows.filter(id=which).first()
            if made is not None:
                return made
            base = _base(principal.project_id, request)
        suffix = ".age" if request.recipients else ""
        row = Backup(
            id=which,
            project_id=principal.project_id,
            policy=request.policy,
            policy_version=policies.VERSION,
            include_embeddings=request.include_embeddings,
            base=base,
            origin=request.origin,
            file=f"{principal.project}-{now:%Y%m%dT%H%M%SZ}-{which}.ndjson.gz{suffix}",
            encrypted=bool(request.recipients),
            signer=audit.fingerprint(),
            exported_at=now,
            operation_id=operation.id,
            created_at=now,
        )
        with progress.alive():
            purges = _write(principal, row, request, progress)
            failpoints.reach("backup.published")
            row.size = storage.size_of(row.file)
            if _noted(principal, row, progress, purges=purges):
                return row
        storage.remove(row.file)


def _noted(principal: Principal, row: Backup, progress: Progress, *, purges: int) -> bool:
    """Write the row, unless backups were purged since there had been so many purges."""
    with access.enter(principal, why="backup"):
        # Whoever purges holds it too: either he finds this row, or his purge is found here.
        project = Project.objects.select_for_update(no_key=True).get(id=principal.project_id)
        if project.purges != purges:
            return False
        row.save(force_insert=True)
        progress.save(stage="written", done=row.records, total=row.records)
        return True


def _base(project_id: uuid.UUID, request: BackupRequest) -> Backup | None:
    if request.base is None:
        return None
    row: Backup | None = Backup.objects.within(project_id).filter(id=request.base, upto__isnull=False).first()
    if row is None or row.policy != ExportPolicy.FULL or row.signer != audit.fingerprint():
        raise NotFound("base")
    if row.include_embeddings != request.include_embeddings:
        raise BadOptions("base", "That backup has embeddings and this one not, or the other way round.")
    if left := changes.uncovered(row, _namespaces(project_id, request)):
        raise BadOptions("base", f"That backup does not hold: {', '.join(left)[:500]}.")
    return row


@contextmanager
def snapshot(principal: Principal, *, why: str) -> Iterator[None]:
    """A transaction that sees one moment, however long it lasts. Inside another one it is a part of that."""
    with access.enter(principal, why=why, reads_only=True):
        if not connection.savepoint_ids:
            execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", [])
        yield


def _write(principal: Principal, row: Backup, request: BackupRequest, progress: Progress) -> int:
    """Return the file, and what the row says of it; how many purges there had been."""
    with snapshot(principal, why="backup"):
        purges = int(Project.objects.values_list("purges", flat=True).get(id=principal.project_id))
        named = _namespaces(principal.project_id, request)
        row.namespaces, row.upto = [place.name for place in named], horizon()
        # Not earlier than the snapshot: by it forgetting finds the backups that may hold a memory.
        ((row.created_at,),) = fetch("SELECT clock_timestamp()", [])
        storage.check_room(
            size(principal.project_id, [place.id for place in named], embeddings=request.include_embeddings)
        )
        since = changes.base_position(row.base) if row.base else None
        selection = records.Selection.of(
            principal.project_id, named, embeddings=request.include_embeddings, since=since
        )
        chosen = policies.choose(request.policy, selection)
        row.counts = chosen.counts
        selection = replace(selection, fragments=chosen.fragments)
        with storage.open_for_writing(row.file) as file:
            tee = storage.Tee(file)
            with (
                encryption.encrypted(tee, request.recipients) as out,
                gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=LEVEL, mtime=0) as packed,
            ):
                row.records = _lines(packed, _manifest(principal, row), selection, progress, chosen.counts)
            failpoints.reach("backup.written")
    row.sha256 = tee.digest.hexdigest()
    return purges


def _lines(
    packed: gzip.GzipFile,
    manifest: Manifest,
    selection: records.Selection,
    progress: Progress,
    counts: list[dict[str, Any]],
) -> int:
    """Manifest, records, footer; how many records."""
    digest, count, total = hashlib.sha256(), 0, sum(bucket["count"] for bucket in counts)
    head = manifest.line() + b"\n"
    digest.update(head)
    packed.write(head)
    for record in changes.read(selection):
        if len(record.line) > records.LONGEST or records.parts(record.line) > records.PARTS:
            raise RecordTooLong(record)
        line = record.line + b"\n"
        digest.update(line)
        packed.write(line)
        count += 1
        if count % records.BATCH == 0:
            progress.note(stage="writing", done=count, total=max(count, total))
            failpoints.reach("backup.half")
    packed.write(Footer.of(count, digest.hexdigest()).line() + b"\n")
    return count


def _manifest(principal: Principal, row: Backup) -> Manifest:
    salt, base = fingerprint_keys.salt_of(principal), row.base
    return Manifest(
        project=principal.project,
        policy=row.policy,
        policyVersion=row.policy_version,
        exportedAtMs=int(row.exported_at.timestamp() * 1000) if row.exported_at else 0,
        instance=audit.fingerprint(),
        namespaces=row.namespaces,
        embeddings=row.include_embeddings,
        counts=row.counts,
        upto=str(row.upto),
        since=str(base.upto) if base else None,
        base=str(base.id) if base else None,
        chain=[each.sha256 for each in chain_of(base)] if base else [],
        publicKey=audit.public_key().hex(),
        salt=salt.hex() if row.encrypted else "",
        saltName=fingerprint_keys.name_of(salt),
    )


def chain_of(row: Backup) -> list[Backup]:
    """Return a backup and all that it goes on from, the oldest first. To be called inside `access.enter`."""
    found = [row]
    while found[0].base_id is not None:
        found.insert(0, Backup.objects.within(row.project_id).get(id=found[0].base_id))
    return found


def _namespaces(project_id: uuid.UUID, request: BackupRequest) -> list[Namespace]:
    """Those that are asked for with their users, all when none is. Raise NotFound for the first that is not there."""
    rows = Namespace.objects.within(project_id).order_by("created_at", "id")
    if not request.namespaces:
        return list(rows)
    named = rows.named(list(request.namespaces))
    found = list(rows.filter(Q(id__in=named) | Q(parent__in=named)))
    for name in sorted(set(request.namespaces) - {row.name for row in found}):
        raise NotFound(f"namespace {name}")
    return found
