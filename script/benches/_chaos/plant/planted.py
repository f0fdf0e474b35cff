"""Where the bench reaches into the product from outside: holds at failpoints, and faults of the product's own.

Each is at work only while the file that the bench keeps names it; the processes go on meanwhile.
"""

import datetime
import json
import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

HELD = 60.0  # seconds at the most, for a bench that is gone
FEW = 2  # rows of what is done batch by batch: so what a story writes takes several
SOON = datetime.timedelta(seconds=5)  # instead of two minutes for chats: as long as operations have here

_files: list[Path] = []


def install(path: str) -> None:
    """Lay everything in place, once a process."""
    if _files:
        return
    _files.append(Path(path))
    _hold_at_failpoints()
    _take_little()
    _spoil_answers()
    _spoil_operations()


def is_active(name: str) -> bool:
    """Return whether the bench wants this fault just now."""
    with suppress(OSError):
        return _files[0].read_text() == name
    return False


def _hold_at_failpoints() -> None:
    from memories import failpoints

    failpoints.reach = hold


def hold(name: str) -> None:
    """Stay at the failpoint that the bench names, until it takes the file away that tells whom it holds."""
    wanted = _files[0].with_suffix(".failpoint")
    mine = wanted.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    with suppress(OSError):
        if wanted.read_text() != name:
            return
        wanted.rename(mine)  # so that only one is held
        mine.write_text(json.dumps({"process": os.getpid(), "session": _session()}))
        held = mine.rename(wanted.with_suffix(".held"))
        deadline = time.monotonic() + HELD
        while held.exists() and time.monotonic() < deadline:
            time.sleep(0.005)


def _session() -> int | None:
    """Return the process of Postgres that serves this thread."""
    from django.db import connection

    return None if connection.connection is None else int(connection.connection.info.backend_pid)


def _take_little() -> None:
    """Come to what lies between two batches of a backup, merge or deletion, and soon to what a dead worker took."""
    from memories.backups.bundle import records
    from memories.ingest import captures
    from memories.namespaces import deletion, replay

    records.BATCH = replay.BATCH = deletion.BATCH = FEW
    captures.CLAIM = SOON


def _spoil_answers() -> None:
    """Answers whose effect is not committed, and answers that are not kept for a repeated request."""
    from django.db import transaction

    from memories.models import RepeatedRequest
    from memories.rest import idempotency

    keep = idempotency._store_answer

    def store_answer(principal: Any, key: str, digest: bytes, answer: Any) -> Any:
        if is_active("no record"):
            return RepeatedRequest(status=answer.status, answer=idempotency._data(principal, answer))
        kept = keep(principal, key, digest, answer)
        if is_active("no commit"):
            transaction.set_rollback(True)
        return kept

    idempotency._store_answer = store_answer


def _spoil_operations() -> None:
    """Operations that nobody takes or ends, a fork that copies nothing, an undo that undoes nothing, kept files."""
    import memories.run_changes as run_changes
    from memories.namespaces import deletion, forks
    from memories.operations import runner

    claim, end, copy = runner.claim, runner._end, forks.copy_namespace

    def copy_nothing(source: Any, name: str) -> dict[str, Any]:
        if not is_active("no copy"):
            return copy(source, name)
        forks.Namespace.objects.branch(source=source, name=name)
        return {"namespace": name, "forked_from": source.name, "copied": 0, "blocked_by_erasure": 0}

    undo, remove = run_changes.undo_run, deletion._remove

    def undo_nothing(principal: Any, operation: Any, *given: Any, **more: Any) -> dict[str, Any]:
        if not is_active("no undo"):
            return undo(principal, operation, *given, **more)
        return {"operation": str(operation.id), "restored": 0, "after": {}}

    runner.claim = lambda *given, **more: None if is_active("no claim") else claim(*given, **more)
    runner._end = lambda *given, **more: None if is_active("no end") else end(*given, **more)
    forks.copy_namespace = copy_nothing
    run_changes.undo_run = undo_nothing
    deletion._remove = lambda files: None if is_active("no removal") else remove(files)
