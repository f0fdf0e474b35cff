"""A forgotten text comes back through no door as the trigger or a step of another memory."""

import pytest
from django.db import DatabaseError, transaction

from memories import access
from memories.models import Archive, Erasure, Fragment, Namespace
from tests.erasure.conftest import MAIN, SIDE
from tests.erasure.test_forget import post
from tests.erasure.test_ways_back import TEXT

pytestmark = pytest.mark.usefixtures("storage")
WORDS = {"steps": ({"steps": ["Walk in.", TEXT]}), "trigger": {"trigger": TEXT.upper()}}


@pytest.fixture(params=WORDS)
def procedure(request, alice, store):
    """Stores a procedure that says the secret beside its text, in a namespace."""

    def make(name=MAIN):
        return store(name, "What to do at the door.", by=alice.principal, type="procedural", extra=WORDS[request.param])

    return make


@pytest.fixture
def count(principal):
    """How many procedures stand in a namespace."""

    def ask(name=MAIN):
        with access.enter(principal, why="test"):
            return Fragment.objects.filter(namespace__name=name, type="procedural").count()

    return ask


@pytest.fixture
def forget_secret(alice, store):
    """Stores the secret itself and has it forgotten."""

    def forget():
        row = store(MAIN, TEXT, by=alice.principal)
        assert post(alice, {"ids": [str(row.id)], "expected_count": 1})["count"] == 1

    return forget


def test_a_restore_brings_no_procedure_that_says_it(principal, procedure, forget_secret, run, count):
    made = procedure()
    backup = run("backup", namespaces=[MAIN])["backup_id"]
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=made.id).delete()
    forget_secret()
    assert run("restore", backup_id=backup)["blocked_by_erasure"] == 1
    assert count() == 0


def test_a_restore_brings_no_copy_of_one_into_the_archive(principal, procedure, forget_secret, run, evict):
    evict(procedure().id)
    backup = run("backup", namespaces=[MAIN])["backup_id"]
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    forget_secret()
    run("restore", backup_id=backup)
    with access.enter(principal, why="test"):
        assert Archive.objects.count() == 0


def test_a_branch_passes_it_on_by_neither_merge_nor_fork(alice, principal, procedure, forget_secret, run, count, store):
    store(MAIN, "The heron nests.")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=MAIN)
    run("fork", place, target=SIDE)
    procedure(SIDE)
    forget_secret()
    assert run("merge", place, source=SIDE)["counts"]["blocked_by_erasure"] == 1
    with access.enter(principal, why="test"):
        Erasure.objects.update(namespace_id=None)
        side = Namespace.objects.get(name=SIDE)
    assert run("fork", side, target="acme:deep")["blocked_by_erasure"] == 1
    assert (count(), count("acme:deep")) == (0, 0)


def test_the_database_refuses_it_whoever_writes(principal, store, alice, procedure, forget_secret):
    plain = store(MAIN, "What to do at the gate.", by=alice.principal, type="procedural")
    extra = procedure("acme:other").extra
    forget_secret()
    with access.enter(principal, why="test"), pytest.raises(DatabaseError, match="forgotten"), transaction.atomic():
        Fragment.objects.filter(id=plain.id).update(extra=extra)


def test_what_says_it_already_takes_a_note_and_says_nothing_else_of_it(alice, procedure, forget_secret):
    made = procedure()
    forget_secret()
    path = f"/api/v1/fragments/{made.id}"
    noted = alice.client.patch(path, {"extra": {**made.extra, "note": "checked"}}, format="json")
    assert (noted.status_code, noted.json()["extra"]["note"]) == (200, "checked")
    again = alice.client.patch(path, {"extra": {"steps": ["Ring.", TEXT]}}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "blocked_by_erasure")


def test_a_stronger_writer_puts_it_in_no_weaker_memory_by_its_key(alice, agent_of, project):
    weak = agent_of(project, owner="alice", ceiling="document")
    body = {"namespace": MAIN, "content": "What to do at the door.", "type": "procedural", "key": "door"}
    assert weak.client.post("/api/v1/fragments", body, format="json").status_code == 201
    said = weak.client.post("/api/v1/fragments", {"namespace": MAIN, "content": TEXT}, format="json").json()
    assert weak.client.delete(f"/api/v1/fragments/{said['id']}").status_code == 204
    body |= {"extra": {"steps": [TEXT]}, "provenance": {"source": "user_explicit"}}
    answer = alice.client.post("/api/v1/fragments", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")
