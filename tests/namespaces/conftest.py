"""A namespace and its branch."""

import pytest
from django.utils import timezone

from memories import access, jobs, upkeep
from memories.models import Fragment, Operation
from tests.ages import belief_digest

MAIN, SIDE = "acme:main", "acme:side"


@pytest.fixture
def fork(principal, place_of):
    """Forks here and now; the operation."""

    def run(source=MAIN, target=SIDE):
        wish = {"kind": "fork", "namespace": place_of(source), "options": {"target": target}}
        return jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)

    return run


@pytest.fixture
def merge(principal, place_of):
    """Merges here and now; the operation."""

    def run(source=SIDE, target=MAIN, *, dry_run=False, **more):
        options = {"source": source, **more}
        wish = {"kind": "merge", "namespace": place_of(target), "options": options, "dry_run": dry_run}
        return jobs.run(principal, jobs.start(principal, **wish, now=timezone.now(), wake_up=False).id)

    return run


@pytest.fixture
def undo(principal):
    """Takes an operation back; the operation that did."""

    def take_back(operation):
        return jobs.run(principal, jobs.start_undo(principal, operation.id, now=timezone.now(), wake_up=False).id)

    return take_back


@pytest.fixture
def rows(principal):
    """The memories of a namespace, the oldest first, with their claims."""

    def read(name=MAIN, **conditions):
        with access.enter(principal, why="test"):
            found = Fragment.objects.filter(namespace__name=name, **conditions).select_related("namespace", "access")
            return list(found.order_by("created_at", "content"))

    return read


@pytest.fixture
def change(principal):
    """Sets columns of a memory as if time had passed."""

    def update(row, **values):
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id=row.id).update(**values)

    return update


@pytest.fixture
def texts(rows):
    """What stands in a namespace."""

    def read(name=MAIN, status="active"):
        return sorted(row.content for row in rows(name, status=status))

    return read


@pytest.fixture
def digest(principal, place_of):
    """The canonical digest of a namespace."""

    def look(name=MAIN):
        with access.enter(principal, why="test"):
            return upkeep.canonical_digest(place_of(name))

    return look


@pytest.fixture
def belief(principal, place_of):
    """As `digest`, but for when each memory was changed last."""

    def look(name=MAIN):
        with access.enter(principal, why="test"):
            return belief_digest(place_of(name))

    return look


@pytest.fixture
def operation_of(principal):
    """An operation as it is now."""

    def read(operation):
        with access.enter(principal, why="test"):
            return Operation.objects.get(id=operation.id)

    return read
