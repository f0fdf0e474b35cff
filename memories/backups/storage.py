"""Where bundles lie: any Django storage under the alias `backups`; a file is there whole or not at all."""

import errno
import hashlib
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from django.core.files import File
from django.core.files.storage import FileSystemStorage, storages

from memories.backups import encryption
from memories.errors import NovaError
from memories.models.sql import fetch

ALIAS = "backups"
PART = ".part"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
SPARE = 64 * 1024 * 1024  # bytes that stay free beside what is written
ABANDONED = 86_400  # seconds after which what a killed writer left is cleared away


class WriteRefused(NovaError):
    """The storage did not take the file: nothing was written."""

    status = 507


class NoSpace(WriteRefused):
    """There is no room for the file."""

    code = "no_space"
    title = "There is no space left"

    def __init__(self, why: str = "there is not enough room for the file") -> None:
        super().__init__(why)


class NotWritable(WriteRefused):
    """Nothing may be written: the disk is mounted read-only, or the folder is somebody else's."""

    code = "not_writable"
    title = "The folder can't be written"


class FileMissing(NovaError):
    """The storage does not hold the file any more."""

    status = 410
    code = "file_missing"
    title = "The file is missing"


def check_room(needed: int) -> None:
    """Raise NoSpace unless so many bytes fit, and some more. Storages elsewhere know their own limits."""
    home = _local_folder()
    if home is not None and shutil.disk_usage(home).free < needed + SPARE:
        raise NoSpace(f"{needed + SPARE:,} bytes have to be free in the folder of the backups")


@contextmanager
def report_refusal() -> Iterator[None]:
    """Files are written inside. Raise NoSpace when the disk is full, NotWritable where it may not be written."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise NoSpace from error
        if error.errno in REFUSED:
            raise NotWritable(f"the folder may not be written: {error.strerror}") from error
        raise


@contextmanager
def open_for_writing(name: str) -> Iterator[IO[bytes]]:
    """A file to write; it appears in the storage under its name when all is written and on the disk, else never.

    Raise WriteRefused.
    """
    home = _local_folder()
    if home is not None:
        _clear(home)
    with report_refusal():
        handle, path = tempfile.mkstemp(suffix=PART, dir=home)
    try:
        with report_refusal():
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _publish(Path(path), name, home)
    finally:
        with suppress(FileNotFoundError):
            Path(path).unlink()


def _publish(path: Path, name: str, home: Path | None) -> None:
    if home is None:
        with path.open("rb") as file:
            storages[ALIAS].save(name, File(file))
        return
    path.rename(home / name)
    folder = os.open(home, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Tee:
    """A file that hashes and counts what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest, self.size = hashlib.sha256(), 0

    def write(self, data: bytes) -> int:
        """Write and hash."""
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Flush the file."""
        self._file.flush()


def store(name: str, file: BinaryIO, *, recipients: Sequence[str] = ()) -> tuple[str, int]:
    """Copy a file into the storage, for recipients encrypted; its SHA-256 in hexadecimal and its size there.

    Raise WriteRefused.
    """
    with open_for_writing(name) as copy:
        tee = Tee(copy)
        with encryption.encrypted(tee, recipients) as out:
            shutil.copyfileobj(file, out, 1 << 20)
    return tee.digest.hexdigest(), tee.size


def open_file(name: str) -> BinaryIO:
    """Return the file. Raise FileMissing."""
    try:
        return cast("BinaryIO", storages[ALIAS].open(name, "rb"))  # Django's File reads like one
    except FileNotFoundError as error:
        raise FileMissing(f"the storage has no {name}") from error


@contextmanager
def open_decrypted(name: str) -> Iterator[BinaryIO]:
    """The file as it was before it was encrypted. Raise FileMissing, IdentityMissing."""
    with open_file(name) as file, encryption.decrypted(file) as plain:
        yield plain


def digest_of(name: str) -> str:
    """Return the SHA-256 of the file, in hexadecimal. Raise FileMissing."""
    with open_file(name) as file:
        return hashlib.file_digest(cast("Any", file), "sha256").hexdigest()


def list_files() -> list[str]:
    """Return the names of all files there, wherever the storage is."""
    _local_folder()
    return sorted(storages[ALIAS].listdir("")[1])


def size_of(name: str) -> int:
    """In bytes. Raise FileMissing."""
    try:
        return storages[ALIAS].size(name)
    except FileNotFoundError as error:
        raise FileMissing(f"the storage has no {name}") from error


def pack_file(operation_id: uuid.UUID) -> str:
    """Return the name of the pack that an operation made."""
    return f"{operation_id}.pack"


def list_abandoned_files(prefix: str) -> list[str]:
    """Files of this beginning that are older than a day. Only of a folder: storages elsewhere are not listed."""
    home = _local_folder()
    if home is None:
        return []
    before = time.time() - ABANDONED
    return [path.name for path in home.glob(f"{prefix}*") if path.stat().st_mtime < before]


def remove(name: str) -> None:
    """Delete the file; one that is gone is gone."""
    storages[ALIAS].delete(name)


def _local_folder() -> Path | None:
    """Return the folder, made when it is missing; None for a storage elsewhere."""
    storage = storages[ALIAS]
    if not isinstance(storage, FileSystemStorage):
        return None
    home = Path(storage.location)
    with report_refusal():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


def _clear(home: Path) -> None:
    """Take away what killed writers left half-written."""
    for part in home.glob(f"*{PART}"):
        with suppress(FileNotFoundError):
            if time.time() - part.stat().st_mtime > ABANDONED:
                part.unlink()


A_NUMBER = 3.0  # bytes of a vector: half precision in base64, compressed (2.8 measured with random ones)
SIZES = """SELECT
    (SELECT coalesce(sum(pg_column_size(f.*)), 0) FROM memories_fragment f
        WHERE f.project_id = %(project)s AND f.namespace_id = ANY (%(places)s))
    + (SELECT coalesce(sum(pg_column_size(r.*)), 0) FROM memories_revision r
        JOIN memories_fragment f ON f.project_id = r.project_id AND f.id = r.fragment_id
        WHERE r.project_id = %(project)s AND f.namespace_id = ANY (%(places)s))
    + (SELECT coalesce(sum(octet_length(a.payload)), 0) FROM memories_archive a
        WHERE a.project_id = %(project)s AND a.namespace_id = ANY (%(places)s))"""
DIMENSIONS = """SELECT coalesce(sum(m.dim), 0) FROM memories_embedding e
    JOIN memories_embeddingmodel m ON m.id = e.model_id
    WHERE e.project_id = %(project)s AND e.namespace_id = ANY (%(places)s)"""


def size(project_id: uuid.UUID, place_ids: Sequence[uuid.UUID], *, embeddings: bool) -> int:
    """About as many bytes as the file will have, rather more: the rows as the database keeps them, and vectors."""
    values = {"project": project_id, "places": list(place_ids)}
    ((rows,),) = fetch(SIZES, values)
    ((numbers,),) = fetch(DIMENSIONS, values) if embeddings else [(0,)]
    return int(rows) + int(numbers * A_NUMBER)
