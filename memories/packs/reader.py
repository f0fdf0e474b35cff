"""Reader: what it says of itself, and the signed bundle that it holds."""

import datetime
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import apsw

from memories import backups
from memories.access import Principal
from memories.models import Backup
from memories.models.namespace import FORM
from memories.packs.sqlite import FORMAT, KINDS, VERSION, open_file

LONGEST = 16 << 20  # bytes in a row of the bundle


class BadPack(Exception):
    """The file is no pack, or one that is broken or of another version."""


@contextmanager
def pack(path: Path) -> Iterator[tuple[apsw.Connection, dict[str, str]]]:
    """The file and what it says of itself. Raise BadPack, whatever is wrong with it, and IdentityMissing."""
    if not path.is_file():
        raise BadPack(f"There is no file {path}.")
    with path.open("rb") as stored:
        if backups.encryption.is_encrypted(stored):
            with backups.encryption.decrypted(stored) as plain, tempfile.NamedTemporaryFile() as copy:
                shutil.copyfileobj(plain, copy)
                copy.flush()
                with pack(Path(copy.name)) as found:
                    yield found
            return
    try:
        file = open_file(path)
        try:
            kinds = dict(file.execute(f"SELECT name, type FROM sqlite_schema WHERE name IN ({_names()})"))
            if kinds != KINDS:
                raise BadPack("This is no pack.")
            meta = dict(file.execute("SELECT name, value FROM meta LIMIT 100"))
            if (meta.get("format"), meta.get("version")) != (FORMAT, VERSION):
                raise BadPack("This is no pack, or one of another version.")
            yield file, {str(name): str(value) for name, value in meta.items()}
        finally:
            file.close()
    except apsw.Error as error:
        raise BadPack(f"This is no pack, or it is broken: {type(error).__name__}.") from error


def _names() -> str:
    return ", ".join(f"'{name}'" for name in KINDS)


@contextmanager
def bundle_of(path: Path) -> Iterator[BinaryIO]:
    """The signed bundle in a pack, as a file. Raise BadPack, NoSpace."""
    with pack(path) as (file, _), backups.storage.report_refusal(), tempfile.TemporaryFile() as copy:
        query = "SELECT part, CASE WHEN typeof(bytes) = 'blob' AND length(bytes) <= ? THEN bytes END FROM bundle"
        for place, (part, chunk) in enumerate(file.execute(f"{query} ORDER BY part", (LONGEST,))):
            if part != place or chunk is None:
                raise BadPack("A part of the bundle is missing or broken.")
            copy.write(chunk)
        copy.seek(0)
        yield copy


def import_pack(principal: Principal, path: Path, *, now: datetime.datetime) -> Backup:
    """Return the pack's bundle as an uploaded backup, to be restored. Raise BadPack, and as `backups.take_in`."""
    with bundle_of(path) as bundle:
        return backups.import_bundle(principal, bundle, now=now)


def project_of(path: Path) -> str:
    """Return the project of the namespace that a pack holds. Raise BadPack."""
    with pack(path) as (_, meta):
        name = meta.get("namespace", "")
        if not FORM.fullmatch(name):
            raise BadPack("The pack does not name its namespace.")
        return name.partition(":")[0]
