"""Counting off the request's way: which memories answers contained and which keys were used.

Collected in memory and written in batches by one thread, never as a row lock on the answer's way. A killed process
loses at most two seconds of counts; nothing that was acknowledged.
"""

import atexit
import datetime
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog
from django.db import DatabaseError, connection

from memories import access
from memories.models import Access, ApiKey, Project

EVERY = 2.0  # seconds
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Tally:
    """What was counted in one project: reads by fragment, and when fragments and keys were last used."""

    reads: Counter[uuid.UUID] = field(default_factory=Counter)
    read_at: dict[uuid.UUID, datetime.datetime] = field(default_factory=dict)
    keys: dict[uuid.UUID, datetime.datetime] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Takes in another tally; the later times win."""
        self.reads.update(other.reads)
        for mine, theirs in ((self.read_at, other.read_at), (self.keys, other.keys)):
            mine.update({i: max(at, mine.get(i, at)) for i, at in theirs.items()})


_lock = threading.Lock()
_tallies: dict[uuid.UUID, Tally] = defaultdict(Tally)


def note_reads(project_id: uuid.UUID, fragments: Sequence[uuid.UUID], *, at: datetime.datetime) -> None:
    """These fragments were part of an answer."""
    if fragments:
        _note(project_id, Tally(reads=Counter(fragments), read_at=dict.fromkeys(fragments, at)))


def note_key(project_id: uuid.UUID, key: uuid.UUID, *, at: datetime.datetime) -> None:
    """This key was used."""
    _note(project_id, Tally(keys={key: at}))


def _note(project_id: uuid.UUID, tally: Tally) -> None:
    with _lock:
        _tallies[project_id].add(tally)


def keep_writing() -> None:
    """Writes every two seconds from now on, and once more when the process ends; for whoever serves requests."""
    threading.Thread(target=_write_on, name="tallies", daemon=True).start()
    atexit.register(_try_to_flush)


def _write_on() -> None:
    pause = threading.Event()
    while True:
        pause.wait(EVERY)
        _try_to_flush()


def _try_to_flush() -> None:
    try:
        flush()
    except DatabaseError as error:
        log.warning("tallies_not_written", error=type(error).__name__)
    finally:
        connection.close()


def flush() -> None:
    """Writes what was collected. What could not be written waits for the next time; unknown projects are dropped."""
    with _lock:
        taken = dict(_tallies)
        _tallies.clear()
    try:
        for project in Project.objects.filter(id__in=taken):
            _write(project, taken[project.id])
            del taken[project.id]
    except DatabaseError:
        with _lock:
            for project_id, tally in taken.items():
                _tallies[project_id].add(tally)
        raise


def _write(project: Project, tally: Tally) -> None:
    with access.enter(access.system_principal(project), why="tally"):
        if tally.reads:
            Access.objects.count_up(project.id, tally.reads, tally.read_at)
        for key, at in tally.keys.items():
            ApiKey.objects.within(project.id).filter(id=key).update(last_used_at=at)
