"""A worker killed at each boundary: then the namespace stands as before the run or as after it, never between."""

import signal

import pytest
from django.utils import timezone

from memories import access, ingest, jobs, upkeep
from memories.models import Embedding, Fragment, Link, Namespace, Operation
from memories.upkeep.consolidation.steps import Phase
from tests.ages import belief_digest
from tests.consolidation.conftest import DAY, beside, unit
from tests.killing import abandoned, recovered

pytestmark = pytest.mark.long

PLANNED = ("deduplicate", "contradictions", "corroborate", "digest", "decay")
BEFORE = [
    "embedded",
    *[f"plan.{name}" for name in PLANNED],
    "planned",
    *[f"apply.{phase}" for phase in Phase],
    "applied",
]


@pytest.fixture
def aged_namespace(service, committed):
    """A namespace with work for every phase, seen by other processes."""
    name = f"{committed.name}:main"
    told = [
        ("The heron nests by the mill.", unit(1), 1, "active", "semantic"),
        ("The heron nests by the mill!", beside(0.98), 1, "active", "semantic"),
        ("I live in Oslo.", unit(*[0] * 3, 1), 1, "active", "semantic"),
        ("Ada was six.", unit(*[0] * 4, 1), 91, "superseded", "semantic"),
        ("We met Ivo.", unit(*[0] * 5, 1), 60, "active", "episodic"),
        *[(f"Otter {n} sleeps.", unit(*[0] * (6 + n), 1), 35, "active", "semantic") for n in range(3)],
    ]
    now = timezone.now()
    ids = []
    for text, vector, age, status, kind in told:
        draft = ingest.Draft(namespace=name, content=text, type=kind, importance=0.3)
        (kept,) = ingest.store(service, ingest.prepare([draft]), now=now - age * DAY)
        ids.append(kept.fragment.id)
        with access.enter(service, why="test"):
            Embedding.objects.filter(project_id=committed.id, fragment_id=ids[-1]).update(vector=vector)
            Fragment.objects.filter(id=ids[-1]).update(status=status)
    with access.enter(service, why="test"):
        for one, other in ((ids[-3], ids[-2]), (ids[-2], ids[-1])):
            Link.objects.create(project_id=committed.id, fragment_id=one, other_id=other, kind="similar")
        return Namespace.objects.get(name=name)


@pytest.fixture
def look(service, aged_namespace):
    """The canonical digest, or the belief's."""

    def digest(*, dated=True):
        with access.enter(service, why="test"):
            return (upkeep.canonical_digest if dated else belief_digest)(aged_namespace)

    return digest


def seen(service, operation):
    """State and error of an operation."""
    with access.enter(service, why="test"):
        row = Operation.objects.get(id=operation.id)
    return row.state, row.stage, row.error


def test_killed_anywhere_it_stands_as_before_or_as_after(service, aged_namespace, worker, look):
    former, now = look(dated=False), timezone.now()
    with access.enter(service, why="test"):
        rows = list(Fragment.objects.filter(namespace=aged_namespace))
    afters = set()
    for name in [*BEFORE, "committed"]:
        before = look()
        operation = jobs.start(
            service, kind="consolidate", namespace=aged_namespace, options={}, now=now, wake_up=False
        )
        died = worker(operation, failpoint=f"consolidation.{name}")
        assert died == -signal.SIGKILL, (name, seen(service, operation))
        left = look()
        assert (left == before) is (name != "committed"), name
        ended = recovered(service, operation)
        assert (ended.state, ended.report["merged"], ended.report["archived"]) == ("succeeded", 1, 2), name
        assert ended.report["compressed"]["clusters"] == 1
        after = look()
        assert name != "committed" or after == left
        afters.add(look(dated=False))
        undo = jobs.start_undo(service, operation.id, now=now, wake_up=False)
        assert worker(undo, failpoint="consolidation.undone") == -signal.SIGKILL
        assert look() == after
        assert worker(abandoned(service, undo), failpoint="operations.handled") == -signal.SIGKILL
        assert look(dated=False) == former
        ended = recovered(service, undo)
        assert (ended.state, ended.error) == ("succeeded", None)
        assert ended.report["restored"] > 0
        assert look(dated=False) == former
        with access.enter(service, why="test"):
            Operation.objects.filter(namespace=aged_namespace).delete()
            for row in rows:  # what was undone is not old enough to go again
                Fragment.objects.filter(id=row.id).update(updated_at=row.updated_at)
    assert len(afters) == 1


def test_without_debug_no_failpoint_is_reached(settings, monkeypatch):
    from memories import failpoints

    monkeypatch.setenv("NOVAMEM_FAILPOINT", "here")
    settings.DEBUG = False
    failpoints.reach("here")
    (refused,) = failpoints.only_for_tests()
    assert refused.id == "memories.E001"
    settings.DEBUG = True
    assert failpoints.only_for_tests() == []
