"""Workers look where there is something to do: one statement for all projects, never one project too few."""

import datetime
import uuid

import pytest
from django.utils import timezone

from memories import access, audit, ingest, jobs, operations, tasks, upkeep
from memories.access import keys
from memories.governance import history
from memories.governance.gate import SKIPPED
from memories.ingest import captures, embedding_queue
from memories.models import Connected, EmbeddingModel, PendingReading
from memories.models.enums import ProposalKind
from memories.models.history import event_models
from memories.models.sql import fetch
from memories.workload import Work, kinds_due, projects_with

LATER = datetime.timedelta(minutes=11)


@pytest.fixture
def has(service, neighbour):
    """Whether there is work in the project; never in its neighbour, where nothing happens."""
    names = {service.project, neighbour.name}

    def look(work, *, now=None):
        found = {project.name for project in projects_with(work, now=now or timezone.now())} & names
        assert work == Work.WRITES or neighbour.name not in found
        return service.project in found

    return look


@pytest.fixture
def write(service):
    """Stores a fragment without its vector."""

    def store(text="The heron nests."):
        draft = ingest.Draft(namespace=f"{service.project}:main", content=text)
        return ingest.store(service, ingest.prepare([draft], embed_now=False), now=timezone.now())[0].fragment

    return store


@pytest.fixture
def all_sealed(service, has, settings, tmp_path):
    """Seals until nothing is left, with a key and a file of the test's own."""
    settings.DATA_DIR = tmp_path

    def seal(*, ago=datetime.timedelta()):
        for _ in range(200):
            audit.seal(service, now=timezone.now() - ago)
            if not has(Work.WRITES, now=timezone.now() + LATER):
                return
        raise AssertionError("not sealed")

    return seal


def test_vectors_that_wait(service, write, has):
    assert not has(Work.EMBEDDINGS)
    write()
    assert has(Work.EMBEDDINGS)
    assert not has(Work.EMBEDDINGS, now=timezone.now() - LATER)
    embedding_queue.embed_pending(service, now=timezone.now())
    assert not has(Work.EMBEDDINGS)


def test_changes_that_are_not_linked_yet(service, write, has):
    write()
    embedding_queue.embed_pending(service, now=timezone.now())
    assert has(Work.CONNECTIONS)
    upkeep.graph.refresh_graph(service, now=timezone.now())
    assert not has(Work.CONNECTIONS)
    with access.enter(service, why="test"):
        Connected.objects.within(service.project_id).update(links_moved=True)
    assert has(Work.CONNECTIONS)
    with access.enter(service, why="test"):
        Connected.objects.within(service.project_id).update(links_moved=False)
    former = EmbeddingModel.objects.create(name=f"former-{uuid.uuid4()}", provider="fake", dim=384)
    with access.enter(service, why="test"):
        Connected.objects.within(service.project_id).update(model=former)
    assert has(Work.CONNECTIONS), "links are made anew under another model"
    with access.enter(service, why="test"):
        Connected.objects.within(service.project_id).delete()
    former.delete()


def test_operations_that_are_open(service, has):
    assert not has(Work.OPERATIONS)
    wish = {"kind": "rebuild", "namespace": None, "options": {"target": "keywords"}, "dry_run": True}
    operation = operations.start(service, **wish, now=timezone.now())
    assert has(Work.OPERATIONS)
    jobs.run(service, operation.id)
    assert not has(Work.OPERATIONS)


def test_chats_that_wait(committed, service, has):
    assert not has(Work.EXCHANGES)
    request = keys.KeyRequest(namespaces=[f"{committed.name}:*"], verbs=["write"], ceiling="inference")
    speaker = access.principal_of_row(keys.issue(committed, request, owner=None).row)
    turn = captures.CapturedTurn("user", "The heron nests.", "1", 1)
    more = {"namespace": f"{committed.name}:main", "conversation_id": "c", "receipt_id": None}
    captures.capture(speaker, [turn], **more, now=timezone.now())
    assert has(Work.EXCHANGES)
    assert not has(Work.EXCHANGES, now=timezone.now() - LATER)


def test_texts_that_wait_to_be_read(service, write, has):
    assert not has(Work.READINGS)
    row = write()
    with access.enter(service, why="test"):
        PendingReading.objects.create(project_id=service.project_id, fragment=row, not_before=timezone.now() + LATER)
    assert has(Work.READINGS), "who asks to forget something is heard at once"


def test_proposals_that_may_be_let_go(service, write, has):
    assert not has(Work.PROPOSALS)
    entry = history.ProposalEntry(ProposalKind.CLAIM, "claims", SKIPPED, about=[write().id])
    with access.enter(service, why="test"):
        place = access.writable(service, f"{service.project}:main")
        history.record(service, place, [entry], now=timezone.now())
    assert has(Work.PROPOSALS)


def test_what_was_written_is_sealed(service, write, has, all_sealed):
    write()
    assert has(Work.WRITES)
    all_sealed()
    assert not has(Work.WRITES, now=timezone.now() + LATER)
    assert has(Work.WRITES), "the file may lack the last seal for a while"
    write()
    assert has(Work.WRITES, now=timezone.now() + LATER)


def test_every_history_counts_as_written(db):
    ((source,),) = fetch("SELECT prosrc FROM pg_proc WHERE proname = 'nova_workload'", [])
    assert [model._meta.db_table for model in event_models() if f" {model._meta.db_table} e " not in source] == []


def test_of_the_rounds_those_are_queued_where_something_is_due(service, write, monkeypatch):
    for _ in range(3):  # what other tests left
        tasks.embed_pending()
        tasks.keep_connections()
    queued = []
    for work, task in tasks.ROUNDS.items():
        monkeypatch.setattr(task, "apply_async", lambda work=work, **_: queued.append(work))
    tasks.look_for_work()
    before = set(queued)
    assert Work.EMBEDDINGS not in before
    queued.clear()
    write()
    tasks.look_for_work()
    assert {Work.EMBEDDINGS} <= set(queued) - before
    assert queued == kinds_due(tasks.ROUNDS, now=timezone.now())


TASKS = [
    tasks.sweep_operations,
    tasks.embed_pending,
    tasks.ingest_exchanges,
    tasks.read_pending,
    tasks.keep_connections,
    tasks.keep_search_fast,
    tasks.seal_events,
    tasks.trim_proposals,
    tasks.deliver_webhooks,
]


@pytest.mark.examples
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_a_project_where_nothing_happens_is_not_entered(task, service, has, write, all_sealed, monkeypatch):
    write()
    embedding_queue.embed_pending(service, now=timezone.now())
    upkeep.graph.refresh_graph(service, now=timezone.now())
    all_sealed(ago=LATER)
    monkeypatch.setattr(tasks, "_been_through", {"seal", "count"})
    entered = []
    monkeypatch.setattr(tasks, "system_principal", lambda project: entered.append(project.name) or _raise())
    task()
    assert service.project not in entered


def _raise():
    raise LookupError("this project is left alone here")


@pytest.mark.parametrize(("witness", "fails"), [("", False), ("/nowhere", False), ("", True)])
def test_seals_go_everywhere_first_with_a_witness_and_after_a_round_that_failed(
    witness, fails, service, monkeypatch, settings
):
    settings.AUDIT_WITNESS = witness
    monkeypatch.setattr(tasks, "_been_through", set())
    monkeypatch.setattr(tasks.workload, "projects_with", lambda *_args, **_more: [])
    rounds = []

    def seal(principal, *, now):
        rounds[-1].append(principal.project)
        if fails:
            raise OSError("disk full")

    monkeypatch.setattr(tasks.audit, "seal", seal)
    monkeypatch.setattr(tasks.audit, "send_seals", lambda principal, *, now: 0)
    for _ in range(2):
        rounds.append([])
        tasks.seal_events()
    assert [service.project in each for each in rounds] == [True, bool(witness) or fails]


def test_the_first_round_of_statistics_goes_everywhere(service, monkeypatch):
    monkeypatch.setattr(tasks, "_been_through", set())
    monkeypatch.setattr(tasks.workload, "projects_with", lambda *_args, **_more: [])
    counted = []
    monkeypatch.setattr(tasks.retrieval, "refresh_statistics", lambda one, *, now: counted.append(one.project))
    tasks.keep_search_fast()
    assert service.project in counted
    counted.clear()
    tasks.keep_search_fast()
    assert counted == []
