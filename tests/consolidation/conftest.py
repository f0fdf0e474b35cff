"""A namespace to consolidate: fragments with vectors and ages of one's choice, and runs of it."""

import datetime

import numpy as np
import pytest
from django.utils import timezone

from memories import access, ingest, jobs, upkeep
from memories.models import Access, Embedding, Fragment, Link, Namespace, Operation
from memories.providers import active_model
from tests.ages import belief_digest

MAIN = "acme:main"
DAY = datetime.timedelta(days=1)


def unit(*parts):
    """A unit vector that begins with these numbers."""
    vector = np.zeros(active_model().dim, np.float32)
    vector[: len(parts)] = parts
    return vector / np.linalg.norm(vector)


def beside(cosine, axis=0, other=1):
    """A unit vector at that cosine from the axis."""
    vector = np.zeros(active_model().dim, np.float32)
    vector[axis], vector[other] = cosine, (1 - cosine**2) ** 0.5
    return vector


@pytest.fixture
def main(store, principal):
    """The namespace; as old as its first memory."""
    with access.enter(principal, why="test"):
        return access.writable(principal, MAIN)


@pytest.fixture
def remember(principal, main):
    """Stores a memory with a vector of one's choice and a life behind it."""

    def keep(content, *, vector=None, by=principal, age=0.0, unchanged=None, base=None, read=None, **more):
        born = timezone.now() - age * DAY
        columns = {name: more.pop(name) for name in ("tier", "status", "disputes", "importance") if name in more}
        if "claim" in more:
            more["claims"] = [more.pop("claim")]
        draft = ingest.Draft(namespace=MAIN, content=content, **more)
        (admission,) = ingest.store(by, ingest.prepare([draft]), now=born)
        row = admission.fragment
        with access.enter(by, why="test"):
            mine = Fragment.objects.filter(id=row.id)
            if vector is not None:
                Embedding.objects.filter(project_id=row.project_id, fragment_id=row.id).update(vector=vector)
            if base is not None:
                columns["base_relevance"] = base
            if unchanged is not None:
                columns["updated_at"] = timezone.now() - unchanged * DAY
            if columns:
                mine.update(**columns)
            if read is not None:
                Access.objects.create(
                    project_id=row.project_id,
                    fragment=row,
                    access_count=1,
                    last_accessed_at=timezone.now() - read * DAY,
                )
            return mine.get()

    return keep


@pytest.fixture
def link(principal):
    """Links fragments in a row, both ways."""

    def join(*rows, kind="similar"):
        with access.enter(principal, why="test"):
            for one, other in zip(rows, rows[1:], strict=False):
                for a, b in ((one, other), (other, one)):
                    Link.objects.create(project_id=principal.project_id, fragment=a, other=b, kind=kind, similarity=0.8)

    return join


@pytest.fixture
def begin(principal, main):
    """A queued consolidation that no worker is told of."""

    def start(*, dry_run=False, now=None, **options):
        wish = {"kind": "consolidate", "namespace": main, "options": options, "dry_run": dry_run}
        return jobs.start(principal, **wish, now=now or timezone.now(), wake_up=False)

    return start


@pytest.fixture
def run(principal, begin):
    """Consolidates to the end; the operation."""

    def consolidate(**wish):
        return jobs.run(principal, begin(**wish).id)

    return consolidate


@pytest.fixture
def undo(principal):
    """Takes a run back; the operation that did."""

    def take_back(operation):
        return jobs.run(principal, jobs.start_undo(principal, operation.id, now=timezone.now(), wake_up=False).id)

    return take_back


@pytest.fixture
def digest(principal, main):
    """The canonical digest of the namespace."""

    def look(namespace=None):
        with access.enter(principal, why="test"):
            return upkeep.canonical_digest(namespace or Namespace.objects.get(id=main.id))

    return look


@pytest.fixture
def belief(principal, main):
    """As `digest`, but for when each memory was changed last."""

    def look():
        with access.enter(principal, why="test"):
            return belief_digest(Namespace.objects.get(id=main.id))

    return look


@pytest.fixture
def now_of(principal):
    """A row as it is now."""

    def read(row):
        with access.enter(principal, why="test"):
            return type(row).objects.get(pk=row.pk)

    return read


@pytest.fixture
def operation_of(principal):
    """An operation as it is now."""

    def read(operation):
        with access.enter(principal, why="test"):
            return Operation.objects.get(id=operation.id)

    return read
