"""Forking, merging and deleting over HTTP."""

import pytest
from django.apps import apps
from django.db import connection

from memories import access, jobs
from memories.access import keys
from memories.models import Fragment, Namespace, Operation, Project
from memories.models.history import event_models
from tests.namespaces.conftest import MAIN, SIDE

URL = "/api/v1/namespaces"


def send(agent, method, path, body, status):
    answer = getattr(agent.client, method)(f"/api/v1/{path}", body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def main(store, alice):
    """A namespace with two memories."""
    return [store(MAIN, text, by=alice.principal) for text in ("The heron nests.", "Otters swim at night.")]


@pytest.fixture
def left(principal):
    """Rows of a project by table, events aside."""

    def count(project_id=None, namespace_id=None):
        found = {}
        tables = {model._meta.db_table for model in event_models()}
        with access.enter(principal, why="test"), connection.cursor() as cursor:
            for model in apps.get_models():
                columns = {field.column for field in model._meta.concrete_fields}
                column = "namespace_id" if namespace_id else "project_id"
                if column in columns and model._meta.db_table not in tables:
                    table = model._meta.db_table
                    cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} = %s", [namespace_id or project_id])
                    if number := cursor.fetchone()[0]:
                        found[table] = number
        return found

    return count


def test_fork_and_merge(alice, main, store, principal, texts):
    told = send(alice, "post", f"namespaces/{MAIN}/fork", {"target": SIDE}, 202)
    assert (told["kind"], told["namespace"], told["state"]) == ("fork", MAIN, "queued")
    assert jobs.run(principal, told["id"]).report["copied"] == 2
    store(SIDE, "Badgers dig.", by=alice.principal)
    looked = send(alice, "post", f"namespaces/{SIDE}/merge", {"target": MAIN, "dry_run": True}, 202)
    planned = jobs.run(principal, looked["id"]).report
    assert "Badgers dig." not in texts()
    bound = {"target": MAIN, "plan_id": looked["id"]}
    told = send(alice, "post", f"namespaces/{SIDE}/merge", bound, 202)
    assert jobs.run(principal, told["id"]).report == planned
    assert send(alice, "post", f"namespaces/{SIDE}/merge", bound, 409)["code"] == "plan_used"
    send(alice, "post", f"namespaces/{MAIN}/merge", {"target": SIDE, "plan_id": looked["id"]}, 404)
    assert "Badgers dig." in texts()
    undo = send(alice, "post", f"operations/{told['id']}/undo", {}, 202)
    assert jobs.run(principal, undo["id"]).state == "succeeded"
    assert "Badgers dig." not in texts()


@pytest.mark.examples
@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (f"namespaces/{MAIN}/fork", {"target": MAIN}, 409, "branch_taken"),
        (f"namespaces/{MAIN}/fork", {"target": "acme:shared"}, 400, "validation"),
        (f"namespaces/{MAIN}/fork", {"target": "no name"}, 400, "validation"),
        (f"namespaces/{MAIN}/fork", {"target": "elsewhere:x"}, 404, "not_found"),
        (f"namespaces/{MAIN}/fork", {}, 400, "validation"),
        (f"namespaces/{MAIN}/fork", {"target": SIDE, "more": 1}, 400, "validation"),
        ("namespaces/acme:nowhere/fork", {"target": SIDE}, 404, "not_found"),
        (f"namespaces/{MAIN}/merge", {"target": MAIN}, 400, "validation"),
        (f"namespaces/{MAIN}/merge", {"target": SIDE}, 404, "not_found"),
        ("namespaces/acme:nowhere/merge", {"target": MAIN}, 404, "not_found"),
    ],
)
def test_bad_wishes_are_refused(alice, main, count, path, body, status, code):
    before = count(Namespace)
    assert send(alice, "post", path, body, status)["code"] == code
    assert (count(Operation), count(Namespace)) == (0, before)


def test_a_namespace_goes_with_all_that_it_holds(alice, main, store, principal, place_of, left, fork, texts):
    store("acme:other", "It stays.", by=alice.principal)
    fork()
    place = place_of(MAIN)
    body = {"namespace": MAIN, "content": "Kept once."}
    alice.client.post("/api/v1/fragments", body, format="json", headers={"Idempotency-Key": "k"})
    alice.client.post("/api/v1/context", {"namespace": MAIN, "query": "heron"}, format="json")
    told = send(alice, "delete", f"namespaces/{MAIN}", {"expected_count": 3}, 202)
    ended = jobs.run(principal, told["id"])
    assert (ended.state, ended.report) == ("succeeded", {"namespace": MAIN, "deleted": 3})
    assert left(namespace_id=place.id) == {}
    assert send(alice, "post", f"namespaces/{MAIN}/fork", {"target": "acme:x"}, 404)["code"] == "not_found"
    assert texts("acme:other") == ["It stays."]
    assert len(texts(SIDE)) == 2
    again = jobs.KINDS["delete"].run(principal, ended, None)
    assert again["deleted"] == 3


@pytest.mark.parametrize(
    ("body", "status"), [({}, 400), ({"expected_count": 1}, 409), ({"confirm": "main"}, 400), ({"confirm": SIDE}, 400)]
)
def test_without_knowing_what_goes_nothing_goes(alice, main, count, body, status):
    told = send(alice, "delete", f"namespaces/{MAIN}", body, status)
    assert status != 409 or told["errors"][0]["message"] == "2"
    send(alice, "delete", "projects/acme", body, status)
    assert (count(Fragment), count(Operation)) == (2, 0)


def test_who_may_not_deletes_nothing(alice, bob, charlie, agent_of, project, main, count):
    narrow = agent_of(project, owner="n", namespaces=[SIDE], verbs=["read", "admin"])
    for who, status in ((bob, 403), (charlie, 404), (narrow, 404)):
        send(who, "delete", f"namespaces/{MAIN}", {"confirm": MAIN}, status)
        send(who, "delete", "projects/acme", {"confirm": "acme"}, status)
    assert (count(Fragment), count(Operation)) == (2, 0)


@pytest.mark.parametrize(("path", "name"), [(f"namespaces/{MAIN}", MAIN), ("projects/acme", "acme")])
def test_deleting_again_while_it_goes_is_the_same_operation(path, name, alice, main, count):
    first, second = (send(alice, "delete", f"{path}?confirm={name}", {}, 202)["id"] for _ in range(2))
    assert (first, count(Operation)) == (second, 1)


def test_what_is_deleted_anew_is_another_operation(alice, main, store, principal):
    for _ in range(2):
        told = send(alice, "delete", f"namespaces/{MAIN}?confirm={MAIN}", {}, 202)
        assert jobs.run(principal, told["id"]).report == {"namespace": MAIN, "deleted": 2}
        store(MAIN, "The heron nests by the mill.")
        store(MAIN, "Otters swim.")


def test_a_project_goes_with_everything(alice, main, store, fork, principal, project, left, charlie):
    theirs = store("elsewhere:main", "Charlie's.", by=charlie.principal)
    fork()
    told = send(alice, "delete", "projects/acme", {"confirm": "acme"}, 202)
    jobs.run(principal, told["id"])
    assert not Project.objects.filter(id=project.id).exists()
    assert left(project_id=project.id) == {}
    assert send(alice, "get", f"fragments/{main[0].id}", None, 401)["code"] == "unauthenticated"
    assert send(charlie, "get", f"fragments/{theirs.id}", None, 200)["content"] == "Charlie's."
    assert keys.ensure_project("acme").id != project.id


@pytest.mark.parametrize("path", [f"namespaces/{MAIN}", "projects/acme"])
def test_the_count_may_stand_in_the_address(path, alice, main):
    assert send(alice, "delete", f"{path}?expected_count=1", None, 409)["errors"][0]["message"] == "2"
    for wrong in ("two", "-1", "2.0", "9" * 5_000):
        told = send(alice, "delete", f"{path}?expected_count={wrong}", None, 400)
        assert told["errors"][0]["field"] == "expected_count"
    send(alice, "delete", f"{path}?expected_count=2", None, 202)


@pytest.mark.long
def test_the_count_of_a_project_is_of_all_its_users(alice, main, store, principal):
    store(MAIN, "Mia likes herons.", by=principal.of_user("mia"))
    told = send(alice, "delete", "projects/acme", {"expected_count": 2}, 409)
    assert told["errors"][0]["message"] == "3"
    send(alice, "delete", "projects/acme", {"expected_count": 3}, 202)


def test_batches_go_on_where_they_were(alice, main, principal, monkeypatch, count):
    from memories.namespaces import deletion

    monkeypatch.setattr(deletion, "BATCH", 1)
    told = send(alice, "delete", f"namespaces/{MAIN}?confirm={MAIN}", {}, 202)
    seen = []
    jobs.run(principal, told["id"], watcher=lambda _, done, total: seen.append(done))
    assert seen == [1, 2, 2]  # each batch, and the end
    assert count(Fragment) == 0
