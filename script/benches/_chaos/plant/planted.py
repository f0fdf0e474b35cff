"""Where the bench reaches into the product from outside: deaths at failpoints, and faults of the product's own.

Each is at work only while the file that the bench keeps names it; the processes go on meanwhile.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

_files: list[Path] = []


def install(path: str) -> None:
    """Lay everything in place, once a process."""
    if _files:
        return
    _files.append(Path(path))
    _die_at_failpoints()
    _spoil_answers()
    _spoil_operations()


def is_active(name: str) -> bool:
    """Return whether the bench wants this fault just now."""
    with suppress(OSError):
        return _files[0].read_text() == name
    return False


def _die_at_failpoints() -> None:
    """Let a process die where the product's tests would; the file goes first, so that only one dies."""
    from memories import failpoints

    def reach(name: str) -> None:
        wanted = _files[0].with_suffix(".failpoint")
        with suppress(OSError):
            if wanted.read_text() == name:
                wanted.rename(wanted.with_suffix(".reached"))
                os.kill(os.getpid(), signal.SIGKILL)

    failpoints.reach = reach


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
    """Operations that nobody takes or ends, and a fork that copies nothing."""
    from memories.namespaces import forks
    from memories.operations import runner

    claim, end, copy = runner.claim, runner._end, forks.copy_namespace

    def copy_nothing(source: Any, name: str) -> dict[str, Any]:
        if not is_active("no copy"):
            return copy(source, name)
        forks.Namespace.objects.branch(source=source, name=name)
        return {"namespace": name, "forked_from": source.name, "copied": 0, "blocked_by_erasure": 0}

    runner.claim = lambda *given, **more: None if is_active("no claim") else claim(*given, **more)
    runner._end = lambda *given, **more: None if is_active("no end") else end(*given, **more)
    forks.copy_namespace = copy_nothing
