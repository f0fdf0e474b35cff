"""Who started a job stands in every event that the job leaves, though a worker carries it out."""

import pytest
from django.utils import timezone

from memories import access, jobs
from memories.access import transactions
from memories.models import Fragment, Namespace
from memories.models.history import event_models

VERBS = ["read", "write", "review", "admin"]


@pytest.fixture
def ann(project, agent_of):
    """A key that may do everything."""
    return agent_of(project, ceiling="user_explicit", verbs=VERBS, owner="ann")


@pytest.fixture
def worker(project):
    """The service itself, which carries out what others started."""
    return access.system_principal(project)


@pytest.fixture
def keep(ann, project):
    """Stores a memory by Ann's key; its id."""

    def store(text, place="main"):
        told = {"namespace": f"{project.name}:{place}", "content": text}
        answer = ann.client.post("/api/v1/fragments", told, format="json")
        assert answer.status_code == 201, answer.content
        return answer.json()["id"]

    return store


@pytest.fixture
def place_of(worker):
    """A namespace by its name."""

    def find(name):
        with access.enter(worker, why="test"):
            return Namespace.objects.named([name]).get()

    return find


@pytest.fixture
def carried_out(ann, worker):
    """Starts a job in Ann's name and lets the worker carry it out; its report, and what its events say of whom."""

    def run(begin):
        with access.enter(worker, why="test"):
            before = {model: set(model.objects.values_list("pgh_id", flat=True)) for model in event_models()}
        operation = begin()
        ended = jobs.run(worker, operation.id)
        assert ended.state == "succeeded", ended.error
        with access.enter(worker, why="test"):
            events = [e for m in before for e in m.objects.exclude(pgh_id__in=before[m])]
        return ended, [event.pgh_context for event in events]

    return run


def is_hers(contexts, ann):
    """Whether all of it is ascribed to Ann's key, but that a worker took it up."""
    told = {(each["kind"], each.get("owner"), each.get("key")) for each in contexts if each["why"] != "claim"}
    return told == {("key", str(ann.principal.owner_id), str(ann.row.id))}


def started(ann, kind, place=None, **options):
    now = timezone.now()
    wish = {"kind": kind, "namespace": place, "options": options, "now": now, "wake_up": False}
    return lambda: jobs.start(ann.principal, **wish)


def test_a_restore_names_who_asked_for_it(ann, worker, keep, carried_out, storage):
    gone = keep("The heron nests behind the mill.")
    made, _ = carried_out(started(ann, "backup"))
    with access.enter(worker, why="test"):
        Fragment.objects.filter(id=gone).delete()
    _, contexts = carried_out(started(ann, "restore", backup_id=made.report["backup_id"]))
    assert "restore" in {each["why"] for each in contexts}
    assert is_hers(contexts, ann)


def test_a_merge_and_its_undo_name_who_asked_for_them(ann, keep, carried_out, place_of, project):
    keep("The heron nests behind the mill.")
    main, side = f"{project.name}:main", f"{project.name}:side"
    _, contexts = carried_out(started(ann, "fork", place_of(main), target=side))
    assert is_hers(contexts, ann)
    keep("The otter swims.", "side")
    merged, contexts = carried_out(started(ann, "merge", place_of(main), source=side))
    assert is_hers(contexts, ann)
    _, contexts = carried_out(lambda: jobs.start_undo(ann.principal, merged.id, now=timezone.now(), wake_up=False))
    assert is_hers(contexts, ann)


def test_a_consolidation_names_who_asked_for_it(ann, keep, carried_out, place_of, project):
    for _ in range(2):
        keep("The heron nests behind the mill.")
    _, contexts = carried_out(started(ann, "consolidate", place_of(f"{project.name}:main")))
    assert is_hers(contexts, ann)


def test_what_the_service_starts_itself_is_the_services(worker, keep, carried_out, place_of, project):
    keep("The heron nests behind the mill.")
    wish = {"kind": "tier", "namespace": None, "options": {}, "now": timezone.now(), "wake_up": False}
    _, contexts = carried_out(lambda: jobs.start(worker, **wish))
    assert {each["kind"] for each in contexts} == {"system"}
    assert transactions._asked_by.get() == {}
