"""Usage counters, off the request's way: which memories answers contained, which keys were used, how searches went.

Collected in memory and written in batches by one thread, never as a row lock on the answer's way. A killed process
loses at most two seconds of counts; nothing that was acknowledged.
"""

import atexit
import datetime
import threading
import uuid
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from memories import access
from memories.models import SEARCH_BOUNDS, Access, ApiKey, Project, SearchDay

EVERY = 2.0  # seconds
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Tally:
    """What was counted in one project: reads by fragment, when fragments and keys were last used, searches by day.

    A search counts under its day (UTC), the place of its time among `SEARCH_BOUNDS`, and whether it found something.
    """

    reads: Counter[uuid.UUID] = field(default_factory=Counter)
    read_at: dict[uuid.UUID, datetime.datetime] = field(default_factory=dict)
    keys: dict[uuid.UUID, datetime.datetime] = field(default_factory=dict)
    searches: Counter[tuple[datetime.date, int, bool]] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Take in another tally; the later times win."""
        self.reads.update(other.reads)
        self.searches.update(other.searches)
        for pair, theirs in ((self.read_at, other.read_at), (self.keys, other.keys)):
            pair.update({i: max(at, pair.get(i, at)) for i, at in theirs.items()})


_lock = threading.Lock()
_writing = threading.Lock()  # whoever finishes waits for what another thread has taken and not yet written
_tallies: dict[uuid.UUID, Tally] = defaultdict(Tally)


def count_reads(project_id: uuid.UUID, fragments: Sequence[uuid.UUID], *, at: datetime.datetime) -> None:
    """These fragments were part of an answer."""
    if fragments:
        _note(project_id, Tally(reads=Counter(fragments), read_at=dict.fromkeys(fragments, at)))


def count_search(project_id: uuid.UUID, *, took: float, found: bool, at: datetime.datetime) -> None:
    """A search was answered in `took` milliseconds, and found something or nothing."""
    one = (at.astimezone(datetime.UTC).date(), bisect_left(SEARCH_BOUNDS, took), found)
    _note(project_id, Tally(searches=Counter([one])))


def count_key_use(project_id: uuid.UUID, key: uuid.UUID, *, at: datetime.datetime) -> None:
    """This key was used."""
    _note(project_id, Tally(keys={key: at}))


def _note(project_id: uuid.UUID, tally: Tally) -> None:
    with _lock:
        _tallies[project_id].add(tally)


def start_writer(*, meanwhile: Callable[[], None]) -> None:
    """Write every two seconds from now on, and once more when the process ends; for whoever serves requests.

    What else is to be told so often is done `meanwhile`.
    """
    threading.Thread(target=_write_on, args=[meanwhile], name="tallies", daemon=True).start()
    atexit.register(finish)


def _write_on(meanwhile: Callable[[], None]) -> None:
    pause = threading.Event()
    while True:
        pause.wait(EVERY)
        finish()
        meanwhile()


def finish() -> None:
    """Write what was counted so far; when the database is away, it waits for the next time."""
    try:
        flush()
    except DatabaseError as error:
        log.warning("tallies_not_written", error=type(error).__name__)
    finally:
        connection.close()


def expire(principal: access.Principal, *, now: datetime.datetime) -> int:
    """Delete the project's days of searches that are older than USAGE_DAYS; 0 keeps them all. Answers how many."""
    if not settings.USAGE_DAYS:
        return 0
    before = now.date() - datetime.timedelta(days=settings.USAGE_DAYS)
    with access.enter(principal, why="retention"):
        return int(SearchDay.objects.within(principal.project_id).filter(day__lt=before).delete()[0])


def flush() -> None:
    """Write what was collected. What could not be written waits for the next time; unknown projects are dropped."""
    with _writing:
        _write_all()


def _write_all() -> None:
    with _lock:
        taken = dict(_tallies)
        _tallies.clear()
    try:
        for project in Project.objects.filter(id__in=taken):
            try:
                access.retry_on_contention(partial(_write, project, taken[project.id]))
            except access.GoneMeanwhile:
                _note(project.id, taken[project.id])  # what is left of it is written the next time
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
        for day in sorted({day for day, _, _ in tally.searches}):
            searches = {(place, found): n for (that, place, found), n in tally.searches.items() if that == day}
            SearchDay.objects.count_up(project.id, day, searches)
        for key in sorted(tally.keys):  # in the order of every process: two may know the same keys
            ApiKey.objects.within(project.id).filter(id=key).update(last_used_at=tally.keys[key])
