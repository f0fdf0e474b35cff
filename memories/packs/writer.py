"""Writer: the signed bundle of a namespace, and what an offline search needs of its active memories."""

import base64
import datetime
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import apsw

from memories import access, backups, failpoints
from memories.access import NotFound, Principal
from memories.models import EmbeddingModel, Namespace, Operation
from memories.models.enums import Status
from memories.operations import BadOptions, Options, Progress
from memories.packs.sqlite import FORMAT, VERSION, create_file
from memories.providers import active_model

PART = 1 << 20  # bytes of the bundle in a row
STEP = 5_000  # memories between two signs of life


def check(options: Options) -> None:
    """Raise BadOptions unless they say at most whom it is encrypted for."""
    if set(options) - {"recipients"}:
        raise BadOptions("options", "A pack takes recipients only.")
    backups.bundle.check_recipients(options)


def name_of(operation: Operation) -> str:
    """Return the file of a pack in the storage of the backups."""
    return backups.storage.pack_file(operation.id)


def stored(principal: Principal, operation: Operation) -> BinaryIO:
    """The file of a pack. Raise FileMissing, also when something that it may hold was forgotten since it was made."""
    name = name_of(operation)
    with access.enter(principal, why="read pack"):
        if backups.list_outdated_packs(principal.project_id, [operation.id]):
            backups.storage.remove(name)
    return backups.storage.open_file(name)


def write(principal: Principal, operation: Operation, progress: Progress) -> dict[str, Any]:
    """Pack the operation's namespace into the storage of the backups; the report names the pack."""
    namespace, now = operation.namespace, operation.started_at or operation.created_at
    assert namespace is not None  # the kind asks for one
    model = active_model()
    request = backups.bundle.BackupRequest(namespaces=(namespace.name,), include_embeddings=True)
    row = backups.bundle.make(principal, request, operation=operation, progress=progress, now=now)
    try:
        with backups.storage.report_refusal(), _sqlite_taking_room(), tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pack.sqlite"
            with backups.storage.open_file(row.file) as bundle:
                number = fill(path, bundle, namespace=namespace, model=model, progress=progress, now=now)
            failpoints.reach("pack.filled")
            recipients = backups.bundle.recipients_of(operation.options)
            with path.open("rb") as file:
                digest, size = backups.storage.store(name_of(operation), file, recipients=recipients)
    finally:
        with suppress(NotFound):  # purged meanwhile
            backups.delete(principal, row.id)
    with access.enter(principal, why="pack"):
        progress.save(stage="packed", done=number, total=number, cursor={"upto": str(row.upto)})
    values = {"pack_id": str(operation.id), "namespace": namespace.name, "memories": number}
    return {**values, "size": size, "sha256": digest, "encrypted": bool(recipients)}


@contextmanager
def _sqlite_taking_room() -> Iterator[None]:
    """SQLite tells a full disk in words of its own. Raise NoSpace."""
    try:
        yield
    except apsw.FullError as error:
        raise backups.storage.NoSpace from error
    except apsw.IOError as error:
        if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_WRITE:  # its types leave it out
            raise backups.storage.NoSpace from error
        raise


def fill(
    path: Path,
    bundle: BinaryIO,
    *,
    namespace: Namespace,
    model: EmbeddingModel,
    progress: Progress,
    now: datetime.datetime,
) -> int:
    """Make the SQLite file of a bundle; how many memories a search finds in it."""
    pack = create_file(path, dim=model.dim)
    number = 0
    with pack:
        for record in backups.bundle.records_of(bundle, now=now):
            if record["kind"] == "fragment" and record["row"]["status"] == Status.ACTIVE:
                number += 1
                _insert_memory(pack, number, record, model=model)
                if number % STEP == 0:
                    progress.save(stage="pack", done=number, total=None)
        bundle.seek(0)
        for part, chunk in enumerate(iter(lambda: bundle.read(PART), b"")):
            pack.execute("INSERT INTO bundle VALUES (?, ?)", (part, chunk))
        meta = {"format": FORMAT, "version": VERSION, "namespace": namespace.name, "made_at": now.isoformat()}
        meta |= {"model": model.name, "provider": model.provider, "dim": str(model.dim), "memories": str(number)}
        pack.executemany("INSERT INTO meta VALUES (?, ?)", list(meta.items()))
    pack.close()
    return number


def _insert_memory(pack: apsw.Connection, number: int, text: dict[str, Any], *, model: EmbeddingModel) -> None:
    row = text["row"]
    columns = ("id", "type", "content")
    more = ("source", "authority", "importance", "created_at", "updated_at")
    values = [*(row[name] for name in columns), json.dumps(row["tags"]), *(row[name] for name in more)]
    values.append(text["namespace"])
    pack.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, *values))
    pack.execute("INSERT INTO words (rowid, content) VALUES (?, ?)", (number, row["content"]))
    if (vector := _vector(text.get("vectors") or [], model)) is not None:
        pack.execute("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", (number, vector))


def _vector(vectors: Iterable[dict[str, Any]], model: EmbeddingModel) -> bytes | None:
    """Return the one under the model: 32-bit floats, little-endian, as sqlite-vec takes them."""
    fitting = (v["vector"] for v in vectors if (v["model"], v["dim"]) == (model.name, model.dim))
    found = next(fitting, None)
    return None if found is None else base64.b64decode(found)
