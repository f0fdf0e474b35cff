"""Task history: what agents report of their tasks, and the short, bounded view of it that prompts get."""

import datetime
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cachetools import TTLCache
from django.conf import settings
from django.db import OperationalError, connection, transaction

from conflicts.authority import SOURCE_RANK
from conflicts.free_text import contradicting
from conflicts.search_index import BlockedByErasure, refuse_forgotten_words
from memories import access
from memories.access import Principal
from memories.ingest import Draft, Prepared, prepare, store_events
from memories.models import CONTENT_LIMIT, Fragment, Namespace, Proposal, Task
from memories.models.enums import (
    FragmentType,
    Outcome,
    ProposalKind,
    SourceClass,
    SourceType,
    Status,
    TaskStatus,
    Verb,
)
from memories.models.governance import SUMMARY_LIMIT, TITLE_LIMIT

MOST = 50
FRESH = 1.5  # seconds
PATIENCE = datetime.timedelta(seconds=3)
OUTCOMES = {TaskStatus.COMPLETED: Outcome.POSITIVE, TaskStatus.FAILED: Outcome.NEGATIVE}
IMPASSE, WITHIN = 3, datetime.timedelta(minutes=30)  # so many failed reports within this time
PAUSE = datetime.timedelta(minutes=5)  # at most one proposal for a task in this time, skips included


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What an agent says of a task. Texts may be long: what is kept of them is short."""

    namespace: str
    id: str
    title: str
    status: str
    summary: str
    updated_at: datetime.datetime


@dataclass(frozen=True, slots=True)
class Reported:
    """The task as it stands now; whether the report made it, and whether it is time to propose a way out."""

    task: Task
    made: bool
    impasse: bool


@dataclass(frozen=True, slots=True)
class RecentTask:
    """One task, safe for a prompt: at most 120 characters of title, 200 of summary."""

    id: str
    namespace: str
    title: str
    status: str
    summary: str
    updated_at: datetime.datetime
    row_id: uuid.UUID


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The recent tasks, the newest first, and where they come from: `source`, when, how long it took, from a cache?"""

    tasks: tuple[RecentTask, ...]
    source: str
    fetched_at: datetime.datetime
    latency_ms: float
    cache_hit: bool


class Placed(Protocol):
    """A namespace, or what stands for one."""

    @property
    def id(self) -> uuid.UUID:
        """Its id."""
        ...

    @property
    def name(self) -> str:
        """How it is written."""
        ...


class TaskHistory(Protocol):
    """Who tells of recent tasks."""

    def recent(
        self, principal: Principal, namespaces: Sequence[Placed], *, limit: int, now: datetime.datetime
    ) -> Snapshot:
        """Return at most `limit` tasks, by `updated_at` and id, the latest first. Asked inside `access.enter`."""
        ...


class OwnHistory:
    """The tasks in this database."""

    source = "database"

    def recent(
        self, principal: Principal, namespaces: Sequence[Placed], *, limit: int, now: datetime.datetime
    ) -> Snapshot:
        """See TaskHistory. Gives up after three seconds: then it knows of none."""
        start = time.perf_counter()
        names = {place.id: place.name for place in namespaces}
        rows = Task.objects.within(principal.project_id).newest(list(names))[: max(0, min(limit, MOST))]
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {int(PATIENCE.total_seconds() * 1000)}")
                tasks = tuple(_recent(row, names) for row in rows)
                cursor.execute("SET LOCAL statement_timeout = DEFAULT")
        except OperationalError:
            return NoHistory().recent(principal, namespaces, limit=limit, now=now)
        return Snapshot(tasks, self.source, now, _milliseconds(start), cache_hit=False)


class NoHistory:
    """Knows of no task."""

    source = "none"

    def recent(
        self, principal: Principal, namespaces: Sequence[Placed], *, limit: int, now: datetime.datetime
    ) -> Snapshot:
        """See TaskHistory."""
        return Snapshot((), self.source, now, 0.0, cache_hit=False)


def _recent(row: Task, names: dict[uuid.UUID, str]) -> RecentTask:
    title, summary = row.title[:TITLE_LIMIT], row.summary[:SUMMARY_LIMIT]
    return RecentTask(row.task_id, names[row.namespace_id], title, row.status, summary, row.updated_at, row.id)


def _milliseconds(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 3)


_cache: TTLCache[tuple[uuid.UUID, frozenset[uuid.UUID], int], Snapshot] = TTLCache(maxsize=1_000, ttl=FRESH)
_caching = threading.Lock()


def recent(
    principal: Principal,
    namespaces: Sequence[Placed],
    *,
    limit: int,
    now: datetime.datetime,
    history: TaskHistory | None = None,
) -> Snapshot:
    """Return the recent tasks of these namespaces, at most 1.5 seconds old. To be asked inside `access.enter`."""
    if not namespaces:
        return NoHistory().recent(principal, namespaces, limit=limit, now=now)
    start = time.perf_counter()
    key = (principal.project_id, frozenset(place.id for place in namespaces), limit)
    with _caching:
        known = _cache.get(key)
    if known is not None and _all_there(principal, known):
        return Snapshot(known.tasks, known.source, known.fetched_at, _milliseconds(start), cache_hit=True)
    found = (history or OwnHistory()).recent(principal, namespaces, limit=limit, now=now)
    with _caching:
        _cache[key] = found
    return found


def _all_there(principal: Principal, known: Snapshot) -> bool:
    """Return whether none of them was forgotten or contained since: no cache brings that back."""
    ids = [task.row_id for task in known.tasks]
    return bool(Task.objects.within(principal.project_id).uncontained().filter(id__in=ids).count() == len(ids))


def believable(principal: Principal, tasks: Sequence[RecentTask], *, now: datetime.datetime) -> list[RecentTask]:
    """Return those that a prompt may have: their memory stands, and no claim that is believed more says otherwise."""
    rows = Task.objects.within(principal.project_id).filter(id__in=[task.row_id for task in tasks])
    said = {
        row.id: Fragment(
            id=row.id,
            project_id=row.project_id,
            namespace_id=row.namespace_id,
            content=f"{row.title}: {row.summary}" if row.summary else row.title,
            source=SourceClass.INFERENCE,
            authority=SOURCE_RANK[SourceClass.INFERENCE],
        )
        for row in rows.select_related("fragment")
        if row.fragment is None or row.fragment.status == Status.ACTIVE
    }
    against = contradicting(list(said.values()), now=now)
    return [task for task in tasks if task.row_id in said and task.row_id not in against]


def prepare_report(report: TaskReport) -> Prepared | None:
    """Return what is remembered of a task's end, embedded; None while it goes on."""
    if report.status not in OUTCOMES:
        return None
    text = f"{report.title} ({report.status})" + (f": {report.summary}" if report.summary else "")
    return prepare(
        [
            Draft(
                namespace=report.namespace,
                content=text[:CONTENT_LIMIT].strip(),
                type=FragmentType.EPISODIC,
                source_type=SourceType.TASK,
                source_id=report.id,
                outcome=OUTCOMES[TaskStatus(report.status)],
                event_at=report.updated_at,
                extra={"status": report.status},
            )
        ]
    )


def report_task(
    principal: Principal, report: TaskReport, prepared: Prepared | None, *, now: datetime.datetime
) -> Reported:
    """Keep what is reported; what is older than what is known changes nothing. A task's end becomes a memory.

    Raise NotFound, NotPermitted, BlockedByErasure.
    """
    principal.require(Verb.WRITE)
    with access.enter(principal, why="task"):
        namespace = access.writable(principal, report.namespace)
        # Two reports of a task at once come one after the other.
        Namespace.objects.within(principal.project_id).select_for_update(no_key=True, of=("self",)).get(id=namespace.id)
        tasks = Task.objects.within(principal.project_id).filter(namespace=namespace, task_id=report.id)
        task = tasks.first() or Task(project_id=principal.project_id, namespace=namespace, task_id=report.id)
        rank = SOURCE_RANK[SourceClass.INFERENCE]
        refuse_forgotten_words(principal.project_id, namespace.id, (report.title, report.summary), authority=rank)
        made = task._state.adding
        if not made and report.updated_at < task.updated_at:
            return Reported(task, made=False, impasse=False)
        task.title, task.summary = report.title[:TITLE_LIMIT].strip(), report.summary[:SUMMARY_LIMIT].strip()
        task.status, task.updated_at, task.reported_at = report.status, report.updated_at, now
        task.key_id = principal.key_id
        if prepared is not None:
            task.fragment = _find_stored(principal, prepared, now=now)
        if report.status == TaskStatus.FAILED:
            task.failed_at = [*task.failed_at, now][-IMPASSE:]
        impasse = _is_due(task, now=now)
        task.proposed_at = now if impasse else task.proposed_at
        task.save()
        _forget_answers(principal.project_id)
        transaction.on_commit(lambda: _forget_answers(principal.project_id), robust=True)
        return Reported(task, made, impasse)


def _forget_answers(project_id: uuid.UUID) -> None:
    with _caching:
        for key in [key for key in _cache if key[0] == project_id]:
            _cache.pop(key, None)


def _find_stored(principal: Principal, prepared: Prepared, *, now: datetime.datetime) -> Fragment:
    (kept,) = store_events(principal, prepared, now=now)
    if kept is None:
        raise BlockedByErasure(index=0)
    return kept.fragment


def _is_due(task: Task, *, now: datetime.datetime) -> bool:
    """Return whether a task failed so often lately that a way out should be proposed, and none was just now."""
    if task.status != TaskStatus.FAILED or len(task.failed_at) < IMPASSE or task.failed_at[0] <= now - WITHIN:
        return False
    if task.proposed_at and task.proposed_at > now - PAUSE:
        return False
    entries = Proposal.objects.within(task.project_id).filter(
        kind=ProposalKind.OPTION, namespace=task.namespace, task_id=task.task_id
    )
    return not entries.filter(created_at__gt=now - PAUSE).exists()


def expire(principal: Principal, *, now: datetime.datetime) -> int:
    """Delete tasks of which nothing was reported for TASK_DAYS; 0 keeps them all. What ended stays as a memory."""
    if not settings.TASK_DAYS:
        return 0
    before = now - datetime.timedelta(days=settings.TASK_DAYS)
    with access.enter(principal, why="retention"):
        return int(Task.objects.within(principal.project_id).filter(reported_at__lt=before).delete()[0])
