"""What stood around a forgotten memory (copies, a tombstone, conflicts, former texts) comes back with no restore."""

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Archive, Episode, Namespace, Project, Tombstone
from memories.models.sql import execute
from tests.erasure.conftest import MAIN

pytestmark = pytest.mark.usefixtures("storage")
SECRET = "xyzzyplugh"
TEXT = f"The safe opens with {SECRET}."


@pytest.fixture
def forget(alice):
    """Forgets one memory, in its namespace or everywhere."""

    def away(row, *, everywhere=False):
        path = f"/api/v1/fragments/{row.id}?everywhere={everywhere}"
        assert alice.client.delete(path).status_code == 204

    return away


@pytest.fixture
def beside(principal, alice):
    """What a prompt is told of the gaps."""

    def prefix():
        body = {"namespace": MAIN, "query": f"{SECRET} safe", "max_tokens": 500}
        return alice.client.post("/api/v1/context", body, format="json").json()["prompt_prefix"]

    return prefix


@pytest.mark.parametrize("others", [0, 1])
def test_neither_copy_nor_tombstone_of_an_evicted_one(
    others, alice, store, evict, forget, run, sweep, beside, count, principal
):
    for _ in range(others):
        store(MAIN, "Otters swim.", by=alice.principal)
    row = store(MAIN, TEXT, by=alice.principal, topics=[SECRET])
    evict(row.id)
    backup = run("backup")["backup_id"]
    forget(row)
    run("restore", backup_id=backup)
    assert sweep(SECRET) == []
    assert (count(Archive), count(Tombstone)) == (0, 0)
    assert SECRET not in beside()
    assert alice.client.post(f"/api/v1/tombstones/{row.id}/restore", format="json").status_code == 404


def test_no_tombstone_of_one_that_was_forgotten_where_the_bundle_comes_from(
    alice, store, evict, forget, run, sweep, count, principal
):
    """It was evicted here, and this project has another salt by now: it is known by its id."""
    row = store(MAIN, TEXT, by=alice.principal, topics=[SECRET])
    store(MAIN, "Otters swim.", by=alice.principal)
    evicted = run("backup")["backup_id"] if evict(row.id) else ""
    forget(row)
    forgotten = run("backup")["backup_id"]
    with access.enter(principal, why="test"):
        execute("DELETE FROM memories_erasure WHERE project_id = %s", [principal.project_id])
    run("restore", backup_id=evicted)
    assert count(Tombstone) == 1
    with access.enter(principal, why="test"):
        Project.objects.filter(id=principal.project_id).update(salt=b"another salt".ljust(32))
    assert run("restore", backup_id=forgotten)["forgotten"] == 1
    assert sweep(SECRET) == []
    assert count(Tombstone) == 0


@pytest.fixture
def waiting(alice, bob, store):
    """A free text in quarantine, because it says otherwise than a claim that is believed more."""
    claim = ClaimDraft(subject="user", predicate="lives_in", value="Oslo")
    store(MAIN, "I live in Oslo.", by=alice.principal, claim=claim, source="user_explicit")
    row = store(MAIN, "The user lives in Paris.", by=bob.principal)
    assert row.status == "quarantined"
    return row


@pytest.mark.parametrize("namespace", ["stands", "is gone"])
def test_no_conflict_with_its_words(namespace, alice, waiting, forget, run, sweep, principal):
    assert "conflicts_pendingconflict.statement" in sweep("paris")
    backup = run("backup")["backup_id"]
    forget(waiting)
    if namespace == "is gone":
        with access.enter(principal, why="test"):
            Namespace.objects.all().delete()
    run("restore", backup_id=backup)
    assert sweep("paris") == []
    assert alice.client.get("/api/v1/conflicts?status=pending").json()["results"] == []


def test_a_decision_stays_without_its_words(alice, agent_of, project, waiting, forget, run, sweep, principal):
    carol = agent_of(project, owner="carol", verbs=["read", "review"])
    (waits,) = alice.client.get("/api/v1/conflicts?status=pending").json()["results"]
    body = {"action": "reject", "revision": waits["revision"], "note": "Paris is wrong"}
    answer = carol.client.post(f"/api/v1/conflicts/{waits['id']}/resolve", body, format="json")
    assert answer.status_code == 200, answer.content
    backup = run("backup")["backup_id"]
    forget(waiting)
    with access.enter(principal, why="test"):
        Namespace.objects.all().delete()
    run("restore", backup_id=backup)
    assert sweep("paris") == []
    (decided,) = alice.client.get("/api/v1/conflicts?status=resolved").json()["results"]
    assert decided["id"] == waits["id"]


@pytest.mark.parametrize("way", ["tombstone", "restore"])
def test_no_former_text_in_a_copy(way, alice, store, evict, forget, run, sweep, principal):
    row = store(MAIN, TEXT, by=alice.principal)
    body = {"content": "Nothing to see here.", "revision": 1}
    assert alice.client.patch(f"/api/v1/fragments/{row.id}", body, format="json").status_code == 200
    evict(row.id)
    backup = run("backup")["backup_id"]
    if way != "tombstone":
        with access.enter(principal, why="test"):
            Namespace.objects.all().delete()
    forget(store("acme:other", TEXT, by=alice.principal), everywhere=True)
    if way != "tombstone":
        run("restore", backup_id=backup)
        assert sweep(SECRET) == []
    answer = alice.client.post(f"/api/v1/tombstones/{row.id}/restore", format="json")
    assert (answer.status_code, answer.json()["content"]) == (200, "Nothing to see here.")
    assert SECRET not in alice.client.get(f"/api/v1/fragments/{row.id}/history").content.decode()
    assert sweep(SECRET) == []


def test_a_copy_without_forgotten_texts_is_restored_as_it_was(alice, store, evict, forget, run, principal):
    row = store(MAIN, "The heron nests.", by=alice.principal)
    body = {"content": "The heron nests by the mill.", "revision": 1}
    assert alice.client.patch(f"/api/v1/fragments/{row.id}", body, format="json").status_code == 200
    forget(store(MAIN, TEXT, by=alice.principal))
    evict(row.id)
    backup = run("backup")["backup_id"]
    with access.enter(principal, why="test"):
        (before,) = [copy.text() for copy in Archive.objects.all()]
        Archive.objects.all().delete()
    run("restore", backup_id=backup)
    with access.enter(principal, why="test"):
        assert [copy.text() for copy in Archive.objects.all()] == [before]


def test_no_version_of_a_text_that_was_forgotten_as_another_s(alice, store, forget, run, sweep, principal):
    """A bundle that holds another text of the same time of a memory opens no conflict that quotes it."""
    row = store(MAIN, TEXT, by=alice.principal)
    backup = run("backup")["backup_id"]
    with access.enter(principal, why="test"):
        execute("UPDATE memories_fragment SET content = 'Otters swim.' WHERE id = %s", [row.id])
        execute("UPDATE memories_fragment SET revision = 1 WHERE id = %s", [row.id])
        execute("DELETE FROM memories_revision WHERE fragment_id = %s", [row.id])
    forget(store("acme:other", TEXT, by=alice.principal), everywhere=True)
    told = run("restore", backup_id=backup)
    assert (told["conflict"], told["blocked_by_erasure"]) == (0, 1)
    assert "conflicts_pendingconflict.statement" not in sweep(SECRET)


def test_a_drill_proves_what_a_branch_keeps(alice, store, forget, run, principal):
    """What one branch forgets the other keeps: its backup is sound."""
    row = store(MAIN, TEXT, by=alice.principal)
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=MAIN)
    run("fork", place, target="acme:side")
    forget(row)
    backup = run("backup")["backup_id"]
    assert run("drill", backup_id=backup)["backup_id"] == backup


def test_no_title_of_an_episode_of_which_all_was_forgotten(alice, store, forget, run, sweep, count):
    rows = [store(MAIN, text, by=alice.principal) for text in ("Otters swim.", "Herons wait.")]
    body = {"namespace": MAIN, "title": f"How to open {SECRET}", "ids": [str(row.id) for row in rows]}
    assert alice.client.post("/api/v1/episodes", body, format="json").status_code == 201
    backup = run("backup")["backup_id"]
    forget(rows[0])
    assert count(Episode) == 1
    forget(rows[1])
    assert sweep(SECRET) == []
    run("restore", backup_id=backup)
    assert (count(Episode), sweep(SECRET)) == (0, [])
