"""The undo of a restore: all is as before it, and the same backup can be restored again."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memories import access, failpoints, jobs
from memories.backups.restoration import pipeline
from memories.models import Archive, Namespace, Operation, Tombstone

pytestmark = pytest.mark.usefixtures("storage")


@pytest.fixture
def lived(alice, bob, carol, said, decide):
    """Memories that stand, that lost, that wait, and a decision."""
    said(alice, "The budget is $1.", value="$1", source="user_explicit")
    decide(carol, said(bob, "The budget is $2.", value="$2")["pending_conflicts"][0]["id"], "supersede")
    said(bob, "The limit is 7.", value="7", predicate="limit")
    said(bob, "The limit is 8.", value="8", predicate="limit")
    said(alice, "The door is red.", user="zoe")
    return said(alice, "We meet on Mondays.", importance=0.1)


@pytest.fixture
def gone(principal, main):
    """Deletes the namespace."""

    def delete():
        with access.enter(principal, why="test"):
            Namespace.objects.within(principal.project_id).filter(name=main).delete()

    return delete


def test_a_namespace_that_it_made_goes_and_comes_again(lived, done, gone, state, undone, principal, main):
    then = state()
    backup = done("backup").report["backup_id"]
    gone()
    restored = done("restore", backup_id=backup)
    assert restored.report["made"] == [main, f"{main}/zoe"]
    assert state() == then
    taken_back = undone(restored)
    assert taken_back.report["deleted"] == {main: 5, f"{main}/zoe": 1}
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).exists()
    again = done("restore", backup_id=backup)
    assert again.report["insert"] == restored.report["insert"]
    assert state() == then


@pytest.fixture
def begun(principal):
    """Begins a restore; it's not run yet."""

    def start(backup):
        wish = {"kind": "restore", "namespace": None, "options": {"backup_id": backup}, "now": timezone.now()}
        return jobs.start(principal, **wish, wake_up=False)

    return start


def test_one_that_ended_early_is_taken_back(lived, done, gone, state, begun, undone, principal, main, monkeypatch):
    then, backup = state(), done("backup").report["backup_id"]
    gone()
    whole = pipeline._apply

    def first_only(principal, read, name, there, **more):
        if name != main:
            raise RuntimeError
        return whole(principal, read, name, there, **more)

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "_apply", first_only)
        ended = jobs.run(principal, begun(backup).id)
    assert (ended.state, list(ended.report["namespaces"]), ended.report["made"]) == ("failed", [main], [main])
    assert undone(ended).report["deleted"] == {main: 5}
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).exists()
    done("restore", backup_id=backup)
    assert state() == then


def test_one_that_ended_before_it_wrote_has_nothing_to_take_back(lived, done, begun, carol, principal, monkeypatch):
    backup = done("backup").report["backup_id"]

    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr(pipeline, "apply", fail)
    ended = jobs.run(principal, begun(backup).id)
    refused = carol.client.post(f"/api/v1/operations/{ended.id}/undo", {}, format="json")
    assert (ended.state, refused.status_code, refused.json()["code"]) == ("failed", 409, "cannot_undo")


@pytest.mark.parametrize("where", ["restore.applied", "restore.committed"])
def test_one_that_another_worker_went_on_with_is_taken_back_whole(
    lived, done, gone, state, begun, undone, principal, main, monkeypatch, where
):
    then, backup = state(), done("backup").report["backup_id"]
    gone()
    operation = begun(backup)

    def die(name):
        if name == where:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(failpoints, "reach", die)
        with pytest.raises(KeyboardInterrupt):
            jobs.run(principal, operation.id)
    with access.enter(principal, why="test"):
        silent = timezone.now() - timedelta(hours=1)
        Operation.objects.within(principal.project_id).filter(id=operation.id).update(lease_until=silent)
    ended = jobs.run(principal, operation.id)
    assert (ended.state, ended.report["insert"], ended.report["made"]) == ("succeeded", 6, [main, f"{main}/zoe"])
    assert state() == then
    assert undone(ended).report["deleted"] == {main: 5, f"{main}/zoe": 1}
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).exists()


def left(principal):
    """Tombstones and copies, byte for byte."""
    with access.enter(principal, why="test"):
        stones = list(Tombstone.objects.within(principal.project_id).order_by("id").values())
        return stones, [(one.id, one.text()) for one in Archive.objects.within(principal.project_id).order_by("id")]


@pytest.mark.long
def test_what_came_beside_others_goes_and_what_had_left_has_left(
    alice, lived, said, done, state, undone, evict, principal
):
    backup = done("backup").report["backup_id"]
    evict(lived["id"])
    said(alice, "We meet on Fridays.")
    before, stones = state(), left(principal)
    restored = done("restore", backup_id=backup)
    assert (restored.report["insert"], restored.report["made"]) == (1, [])
    assert alice.client.get(f"/api/v1/fragments/{lived['id']}").status_code == 200
    undone(restored)
    assert state() == before
    assert left(principal) == stones
    assert done("restore", backup_id=backup).report["insert"] == 1


def test_what_it_changed_is_as_it_was(alice, carol, bob, said, decide, done, state, undone, principal):
    stored = said(alice, "The budget is $1.", value="$1", source="user_explicit")
    conflict = said(bob, "The budget is $2.", value="$2")["pending_conflicts"][0]["id"]
    change = {"revision": stored["revision"], "content": "The budget is $1, they say."}
    assert alice.client.patch(f"/api/v1/fragments/{stored['id']}", change, format="json").status_code == 200
    decide(carol, conflict, "reject")
    backup = done("backup").report["backup_id"]
    with access.enter(principal, why="test"), connection.cursor() as cursor:  # as on a machine that lags behind
        cursor.execute("DELETE FROM conflicts_ruling WHERE project_id = %s", [principal.project_id])
        cursor.execute("DELETE FROM conflicts_pendingconflict WHERE project_id = %s", [principal.project_id])
        older = "content = 'The budget is one dollar.', updated_at = updated_at - interval '1 day'"
        cursor.execute(f"UPDATE memories_fragment SET {older} WHERE id = %s", [stored["id"]])
    before = state()
    restored = done("restore", backup_id=backup)
    assert restored.report["update"] == 1
    assert state() != before
    undone(restored)
    assert state() == before


@pytest.mark.long
def test_what_was_written_since_is_in_the_way(alice, lived, said, done, gone, undone, main):
    backup = done("backup").report["backup_id"]
    gone()
    restored = done("restore", backup_id=backup)
    later = said(alice, "We meet on Fridays.")
    refused = undone(restored, ends="failed")
    assert refused.error["code"] == "cannot_undo"
    assert refused.report["changed_since"]["ids"] == [later["id"]]


def test_once_and_only_by_who_may(lived, done, gone, undone, carol, agent_of, project):
    backup = done("backup").report["backup_id"]
    gone()
    restored = done("restore", backup_id=backup)
    weak = agent_of(project, owner="weak", verbs=["read", "write", "admin"], ceiling="tool_output")
    refused = weak.client.post(f"/api/v1/operations/{restored.id}/undo", {}, format="json")
    assert refused.json()["code"] == "not_permitted"
    undone(restored)
    again = carol.client.post(f"/api/v1/operations/{restored.id}/undo", {}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "cannot_undo")


@pytest.mark.long
@pytest.mark.parametrize("since", ["user", "predicate"])
def test_what_was_made_there_since_is_in_the_way(lived, alice, said, done, gone, undone, main, since):
    backup = done("backup").report["backup_id"]
    gone()
    restored = done("restore", backup_id=backup)
    if since == "user":
        said(alice, "We meet on Fridays.", user="ann")
    else:
        rule = {"namespace": main, "name": "shoe size", "exclusive": True}
        assert alice.client.post("/api/v1/predicates", rule, format="json").status_code == 201
    error = undone(restored, ends="failed").error
    assert (error["code"], error["detail"]) == ("cannot_undo", f"something was written into {main} since")


def test_what_was_forgotten_since_is_not_in_the_way(lived, alice, done, gone, undone, principal):
    backup = done("backup").report["backup_id"]
    gone()
    restored = done("restore", backup_id=backup)
    assert alice.client.delete(f"/api/v1/fragments/{lived['id']}").status_code == 204
    undone(restored)
    with access.enter(principal, why="test"):
        assert not Namespace.objects.within(principal.project_id).exists()
