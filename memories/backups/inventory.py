"""Inventory: bundles that come from elsewhere, or lie in the storage of a machine whose database knows none."""

import datetime
import re
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Self

from memories import access
from memories.access import Principal
from memories.backups import encryption, storage
from memories.backups.bundle import BundleReader, Manifest, v1_format
from memories.backups.restoration import BaseMissing, check_place
from memories.models import Backup
from memories.models.backups import SOUND
from memories.models.enums import BackupOrigin

ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
ENDING = r"\.ndjson\.gz(?:\.age)?"
TIME = "%Y%m%dT%H%M%SZ"
NAMED = re.compile(rf"(?P<project>.+)-(?P<at>\d{{8}}T\d{{6}}Z)-(?P<id>{ID}){ENDING}")


@dataclass(frozen=True, slots=True)
class StoredBundle:
    """What the name of a file in the storage tells: whose backup, of which second (UTC), under which id."""

    project: str
    at: datetime.datetime
    id: uuid.UUID
    file: str

    @classmethod
    def of(cls, name: str) -> Self | None:
        """Return the bundle of this name; None for any other file."""
        told = NAMED.fullmatch(name)
        if not told:
            return None
        at = datetime.datetime.strptime(told["at"], TIME).replace(tzinfo=datetime.UTC)
        return cls(told["project"], at, uuid.UUID(told["id"]), name)


def stored_bundles() -> list[StoredBundle]:
    """Return what the storage holds, the newest first."""
    found = [bundle for name in storage.list_files() if (bundle := StoredBundle.of(name))]
    return sorted(found, key=lambda bundle: (bundle.at, bundle.file), reverse=True)


def newest_of_each(bundles: Sequence[StoredBundle], *, now: datetime.datetime) -> list[StoredBundle]:
    """Return the newest of each project, by its name; the bundles are given the newest first.

    Of those of one second their first lines tell which. Raise BrokenBundle, IdentityMissing.
    """
    found = []
    for project in sorted({bundle.project for bundle in bundles}):
        own = [bundle for bundle in bundles if bundle.project == project]
        last = [bundle for bundle in own if bundle.at == own[0].at]
        found.append(last[0] if len(last) == 1 else max(last, key=lambda one: _manifest_of(one, now=now).exportedAtMs))
    return found


def chain_of(bundle: StoredBundle, among: Iterable[StoredBundle], *, now: datetime.datetime) -> list[StoredBundle]:
    """Return what a bundle goes on from and itself, the oldest first.

    Raise BaseMissing where the storage lacks one of them, BrokenBundle, IdentityMissing.
    """
    by_id, chain = {str(each.id): each for each in among}, [bundle]
    while base := _manifest_of(chain[0], now=now).base:
        if base not in by_id or by_id[base] in chain:
            raise BaseMissing(f"{chain[0].file} goes on from the backup {base}, which the storage does not hold")
        chain.insert(0, by_id[base])
    return chain


def _manifest_of(bundle: StoredBundle, *, now: datetime.datetime) -> Manifest:
    with storage.open_decrypted(bundle.file) as file:
        return BundleReader(file, now=now, allow_version=True).manifest


def known_as(principal: Principal, file: str) -> Backup | None:
    """Return the backup whose file has this name in the storage; None where nobody here knows it."""
    with access.enter(principal, why="read"):
        row: Backup | None = Backup.objects.within(principal.project_id).filter(file=file).first()
        return row


def project_of(file: BinaryIO, *, now: datetime.datetime) -> str:
    """The name of the project that a bundle is of, empty for an envelope that does not say. Raise BrokenBundle."""
    with encryption.decrypted(file) as plain:
        if v1_format.is_envelope(plain):
            return v1_format.project_of(plain)
        return BundleReader(plain, now=now, allow_version=True).manifest.project


def import_bundle(
    principal: Principal,
    file: BinaryIO,
    *,
    now: datetime.datetime,
    allow_version: bool = False,
    is_read_whole: bool = False,
    found: StoredBundle | None = None,
) -> Backup:
    """Store a bundle that comes from elsewhere, so that it can be restored; its first line is read, or all of it.

    One that was `found` in the storage stays there, as the backup that it was. A V1 envelope becomes a bundle; what is
    encrypted is kept so. One that was read to its end and goes on from no other is verified. Of an unknown version the
    first line is read alone: nobody knows the others. Raise BrokenBundle, WrongProject, BaseMissing, NoSpace,
    IdentityMissing.
    """
    is_encrypted = encryption.is_encrypted(file)
    if not is_encrypted and v1_format.is_envelope(file):
        file = v1_format.bundle_of(file, project=principal.project, now=now, allow_version=allow_version)
    with encryption.decrypted(file) as plain:
        reader = BundleReader(plain, now=now, allow_version=True)
        check_place(principal, reader.manifest)
        is_whole = is_read_whole and reader.is_known
        records = sum(1 for _ in reader.lines()) if is_whole else 0
    row = _row_of(principal, reader, found, now=now, is_encrypted=is_encrypted)
    row.records = records
    if is_whole and not reader.manifest.chain:
        row.verdict, row.verified_at = SOUND, now
    if found:
        row.sha256, row.size = storage.digest_of(found.file), storage.size_of(found.file)
    else:
        file.seek(0)
        row.sha256, row.size = storage.store(row.file, file)
    with access.enter(principal, why="upload backup"):
        row.save(force_insert=True)
    return row


def _row_of(
    principal: Principal,
    reader: BundleReader,
    found: StoredBundle | None,
    *,
    now: datetime.datetime,
    is_encrypted: bool,
) -> Backup:
    """Return what a bundle says of itself as a row that is not stored yet."""
    manifest, which = reader.manifest, found.id if found else uuid.uuid4()
    ending = ".ndjson.gz.age" if is_encrypted else ".ndjson.gz"
    return Backup(
        id=which,
        project_id=principal.project_id,
        policy=manifest.policy if manifest.policy in ("full", "identity") else "full",
        policy_version=max(0, min(manifest.policyVersion, 32_767)),
        namespaces=list(manifest.namespaces),
        include_embeddings=manifest.embeddings,
        base=_base(principal, manifest),
        origin=BackupOrigin.ASKED if found else BackupOrigin.UPLOADED,
        file=found.file if found else f"{principal.project}-upload-{which}{ending}",
        encrypted=is_encrypted,
        signer=reader.signer,
        exported_at=found.at if found else None,
        created_at=found.at if found else now,
    )


def _base(principal: Principal, manifest: Manifest) -> Backup | None:
    if not manifest.chain:
        return None
    with access.enter(principal, why="upload backup"):
        rows = Backup.objects.within(principal.project_id).filter(sha256=manifest.chain[-1])
        row: Backup | None = rows.order_by("-created_at").first()
    if row is None:
        raise BaseMissing("the bundle goes on from another that is not here: upload that first")
    return row
