"""A worker killed anywhere in a fork, a merge or its undo: then all stands as before or as after it, never between."""

import signal

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, ingest, jobs, upkeep
from memories.models import Namespace, Operation
from memories.namespaces.copies import PARTS, PARTS_OF_NAMESPACES
from tests.ages import belief_digest
from tests.killing import abandoned, recovered

pytestmark = pytest.mark.long

FORKING = [f"fork.{part.table}" for part in (*PARTS, *PARTS_OF_NAMESPACES)]
MERGING = [f"merge.{name}" for name in ("forgotten", "carried", "replaying", "brought", "applied")]


@pytest.fixture
def store_memory(service, committed):
    """Stores a memory in a namespace of the committed project."""

    def store(place, content, **more):
        if "claim" in more:
            more["claims"] = [more.pop("claim")]
        draft = ingest.Draft(namespace=f"{committed.name}:{place}", content=content, **more)
        return ingest.store(service, ingest.prepare([draft]), now=timezone.now())[0].fragment

    return store


@pytest.fixture
def place_of(service, committed):
    """A namespace of the committed project; None without it."""

    def find(name):
        with access.enter(service, why="test"):
            return Namespace.objects.within(committed.id).filter(name=f"{committed.name}:{name}").first()

    return find


@pytest.fixture
def look(service, place_of):
    """The canonical digest of a namespace, or its belief's; None without it."""

    def digest(name, *, dated=True):
        place = place_of(name)
        with access.enter(service, why="test"):
            return place and (upkeep.canonical_digest if dated else belief_digest)(place)

    return digest


def begin(service, kind, place, **options):
    wish = {"kind": kind, "namespace": place, "options": options}
    return jobs.start(service, **wish, now=timezone.now(), wake_up=False)


def test_a_fork_is_whole_or_not_at_all(service, committed, store_memory, place_of, look, worker):
    store_memory("main", "Ada is six.", claim=ClaimDraft("Ada", "age", "6"))
    store_memory("main", "The heron nests.")
    for number, name in enumerate([*FORKING, "forked", "fork.committed"]):
        side = f"side{number}"
        operation = begin(service, "fork", place_of("main"), target=f"{committed.name}:{side}")
        assert worker(operation, failpoint=f"branches.{name}") == -signal.SIGKILL, name
        left = look(side)
        assert (left is None) is (name != "fork.committed"), name
        ended = recovered(service, operation)
        assert (ended.state, ended.report["copied"]) == ("succeeded", 2), name
        assert left in (None, look(side))


def test_a_merge_and_its_undo_are_whole_or_not_at_all(service, committed, store_memory, place_of, look, worker, now):
    store_memory("main", "Ada is six.", claim=ClaimDraft("Ada", "age", "6"))
    store_memory("main", "The heron nests.")
    fork = begin(service, "fork", place_of("main"), target=f"{committed.name}:side")
    assert jobs.run(service, fork.id).state == "succeeded"
    store_memory("side", "Ada is seven.", claim=ClaimDraft("Ada", "age", "7"))
    store_memory("side", "Otters swim.")
    former, afters = look("main", dated=False), set()
    for name in [*MERGING, "merge.committed"]:
        before = look("main")
        operation = begin(service, "merge", place_of("main"), source=f"{committed.name}:side")
        assert worker(operation, failpoint=f"branches.{name}") == -signal.SIGKILL, name
        left = look("main")
        assert (left == before) is (name != "merge.committed"), name
        ended = recovered(service, operation)
        assert (ended.state, ended.report["counts"]["added"]) == ("succeeded", 2), name
        after = look("main")
        assert name != "merge.committed" or after == left
        afters.add(after)
        undo = jobs.start_undo(service, operation.id, now=now, wake_up=False)
        assert worker(undo, failpoint="branches.merge.undone") == -signal.SIGKILL
        assert look("main") == after
        assert worker(abandoned(service, undo), failpoint="operations.handled") == -signal.SIGKILL
        ended = recovered(service, undo)
        assert (ended.state, ended.error) == ("succeeded", None)
        assert ended.report["restored"] > 0
        assert look("main", dated=False) == former
    assert len(afters) == len([*MERGING, "merge.committed"])  # each supersedes at its own time


def test_deleting_goes_on_after_a_kill(service, store_memory, place_of, look, worker):
    for n in range(3):
        store_memory("main", f"Memory {n}.")
    operation = begin(service, "delete", None, namespace=place_of("main").name)
    assert worker(operation, failpoint="branches.deleting") == -signal.SIGKILL
    assert look("main") is not None
    assert recovered(service, operation).report["deleted"] == 3
    assert look("main") is None
    with access.enter(service, why="test"):
        assert Operation.objects.get(id=operation.id).state == "succeeded"


def test_what_is_stored_after_a_deletion_stays(service, store_memory, place_of, look, worker):
    store_memory("main", "The heron nests.")
    operation = begin(service, "delete", None, namespace=place_of("main").name)
    assert worker(operation, failpoint="operations.handled") == -signal.SIGKILL
    assert look("main") is None
    store_memory("main", "Otters swim.")
    left = look("main")
    assert recovered(service, operation).report["deleted"] == 1
    assert look("main") == left
