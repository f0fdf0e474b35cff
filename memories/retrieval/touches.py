"""Counting what answers contained, off the request's way: collected in memory, written in batches."""

import atexit
import datetime
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence

import structlog
from django.db import DatabaseError, connection

from memories import access
from memories.models import Access, Project

EVERY = 2.0  # seconds
log = structlog.get_logger(__name__)

_lock = threading.Lock()
_counts: dict[uuid.UUID, Counter[uuid.UUID]] = defaultdict(Counter)
_latest: dict[uuid.UUID, datetime.datetime] = {}
_writer: threading.Thread | None = None
_wake = threading.Event()


def note(project_id: uuid.UUID, ids: Sequence[uuid.UUID], *, at: datetime.datetime) -> None:
    """Remembers that these fragments were part of an answer."""
    global _writer
    if not ids:
        return
    with _lock:
        _counts[project_id].update(ids)
        _latest.update(dict.fromkeys(ids, at))
        if _writer is None:
            _writer = threading.Thread(target=_write_on, name="touches", daemon=True)
            _writer.start()
            atexit.register(flush)


def _write_on() -> None:
    while True:
        _wake.wait(EVERY)
        try:
            flush()
        except DatabaseError as error:
            log.warning("touches_not_written", error=type(error).__name__)
        finally:
            connection.close()


def flush() -> int:
    """Writes what was collected; the number of fragments. What could not be written waits for the next time."""
    with _lock:
        counts, latest = dict(_counts), dict(_latest)
        _counts.clear()
        _latest.clear()
    try:
        for project in Project.objects.filter(id__in=counts):
            with access.enter(access.system_principal(project), why="touch"):
                Access.objects.count_up(project.id, counts[project.id], latest)
    except DatabaseError:
        with _lock:
            for project_id, counter in counts.items():
                _counts[project_id].update(counter)
            _latest.update({i: at for i, at in latest.items() if i not in _latest})
        raise
    return sum(len(counter) for counter in counts.values())
