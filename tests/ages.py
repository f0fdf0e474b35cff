"""Memories of any age, and pictures of all that the database holds of them."""

import datetime

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from memories import access, ingest, jobs, operations, upkeep
from memories.models import Access, Fragment, Link
from memories.models.answer_rows import load_answer_rows

TABLES = {
    "memories_fragment": "id",
    "memories_claim": "fragment_id",
    "memories_access": "fragment_id",
    "memories_revision": "fragment_id",
    "memories_embedding": "fragment_id",
    "memories_keywords": "fragment_id",
    "memories_link": "fragment_id",
    "conflicts_vote": "fragment_id",
    "memories_pendingembedding": "fragment_id",
}


def belief_digest(namespace):
    """The canonical digest but for when each memory was changed last: an undo is a change. Inside `access.enter`."""
    with transaction.atomic():
        rows = Fragment.objects.within(namespace.project_id).filter(namespace=namespace)
        rows.update(updated_at=F("created_at"), revision=1)
        found = upkeep.canonical_digest(namespace)
        transaction.set_rollback(True)
    return found


@pytest.fixture
def picture(principal):
    """Everything stored of the project's fragments, byte for byte; only the change number is left out.

    `dated=False`: and when each was changed last, for an undo is a change.
    """

    def take(*, dated=True):
        with access.enter(principal, why="test"), connection.cursor() as cursor:
            rows = {}
            for table, key in TABLES.items():
                operational = "- 'id' - 'not_before'" if table == "memories_pendingembedding" else ""
                if table == "memories_fragment" and not dated:
                    operational = "- 'updated_at' - 'revision'"
                cursor.execute(
                    f"SELECT {key}, to_jsonb(t) - 'change' {operational} FROM {table} t WHERE project_id = %s",
                    [principal.project_id],
                )
                rows[table] = sorted(cursor.fetchall(), key=str)
            return rows

    return take


@pytest.fixture
def at(time_machine):
    """Lets it be so many days ago, or now."""
    start = timezone.now()

    def move(days):
        time_machine.move_to(start - datetime.timedelta(days=days), tick=False)
        return timezone.now()

    yield move
    time_machine.move_to(start, tick=False)


@pytest.fixture
def old(at, store):
    """Stores a memory so many days ago; it weighs little unless told otherwise."""

    def keep(days, content="The heron nests behind the old mill.", *, namespace="acme:main", **more):
        at(days)
        row = store(namespace, content, **{"importance": 0.5, **more})
        at(0)
        return row

    return keep


@pytest.fixture
def fill(at, principal):
    """Stores many memories so many days ago, without vectors; their ids in order."""

    def keep(number, days=0, *, namespace="acme:main", importance=0.5):
        now = at(days)
        drafts = [
            ingest.Draft(namespace=namespace, content=f"Heron {days} {n} nests there.", importance=importance)
            for n in range(number)
        ]
        kept = [
            admission.fragment.id
            for start in range(0, number, 1000)
            for admission in ingest.store(
                principal, ingest.prepare(drafts[start : start + 1000], embed_now=False), now=now
            )
        ]
        at(0)
        return kept

    return keep


@pytest.fixture
def change(principal):
    """Changes columns of fragments directly."""

    def set_to(rows, **values):
        ids = [getattr(row, "id", row) for row in (rows if isinstance(rows, list) else [rows])]
        with access.enter(principal, why="test"):
            Fragment.objects.within(principal.project_id).filter(id__in=ids).update(**values)

    return set_to


@pytest.fixture
def read_at(principal, at):
    """Lets a memory have been read so often, the last time so many days ago."""

    def read(row, days, *, times=1):
        then = at(days)
        with access.enter(principal, why="test"):
            Access.objects.count_up(principal.project_id, {row.id: times}, {row.id: then})
        at(0)

    return read


@pytest.fixture
def link(principal):
    """Joins memories in both directions."""

    def join(one, other, *, kind="similar", similarity=0.8125):
        with access.enter(principal, why="test"):
            for here, there in ((one, other), (other, one)):
                Link.objects.create(
                    project_id=principal.project_id, fragment=here, other=there, kind=kind, similarity=similarity
                )

    return join


@pytest.fixture
def fresh(principal):
    """A fragment as the database has it, or None."""

    def load(row):
        with access.enter(principal, why="test"):
            return next(iter(load_answer_rows(principal.project_id, [getattr(row, "id", row)])), None)

    return load


@pytest.fixture
def run(principal):
    """Runs an operation to its end."""

    def job(kind, *, namespace=None, dry_run=False, **options):
        wish = {"kind": kind, "namespace": namespace, "options": options, "dry_run": dry_run, "now": timezone.now()}
        jobs.check_options(kind, options, namespace=namespace, dry_run=dry_run)
        ended = jobs.run(principal, operations.start(principal, **wish).id)
        assert ended.state == "succeeded", ended.error
        return ended

    return job


@pytest.fixture
def undo(principal):
    """Takes an operation back; the report."""

    def back(operation):
        wish = {"kind": "undo", "namespace": None, "options": {}, "dry_run": False, "now": timezone.now()}
        own = operations.start(principal, **wish)
        claimed = operations.claim(principal, own.id, now=timezone.now())
        return jobs.KINDS[operation.kind].undo(principal, operation, operations.Progress(principal, claimed))

    return back
