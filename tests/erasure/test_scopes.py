"""A forgotten text is barred where it was forgotten; everywhere when an admin of the project says so."""

import pytest
from django.core.management import call_command

from memories import access
from memories.models import Erasure, Namespace
from memories.models.history import events_of

TEXT = "Yes, please send me the invoice by email."
MAIN, SIDE = "acme:main", "acme:side"
pytestmark = pytest.mark.usefixtures("storage")


def store(agent, namespace, content=TEXT, **more):
    body = {"namespace": namespace, "content": content, **more}
    return agent.client.post("/api/v1/fragments", body, format="json")


def forget(agent, namespace=MAIN, content=TEXT, query=""):
    made = store(agent, namespace, content).json()["id"]
    answer = agent.client.delete(f"/api/v1/fragments/{made}{query}")
    assert answer.status_code == 204, answer.content
    return made


def lift(agent, **body):
    return agent.client.post("/api/v1/erasures/lift", {"content": TEXT, **body}, format="json")


def test_a_text_is_barred_in_its_namespace_alone(alice, principal):
    forgotten = forget(alice)
    refused = store(alice, MAIN)
    assert (refused.status_code, refused.json()["code"]) == (409, "blocked_by_erasure")
    assert refused.json()["errors"] == [
        {"field": "content", "message": "This text was forgotten.", "code": "blocked_by_erasure"}
    ]
    assert store(alice, SIDE).status_code == 201
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=MAIN).id
        row = Erasure.objects.get()
        assert (str(row.fragment_id), row.namespace_id) == (forgotten, place)
        assert events_of(Erasure).objects.get().namespace_id == place


def test_everywhere_bars_it_in_the_whole_project(alice):
    store(alice, SIDE, "The heron nests.")
    forget(alice, query="?everywhere=true")
    assert [store(alice, name).status_code for name in (MAIN, SIDE, "acme:new")] == [409, 409, 409]


def test_everywhere_is_for_an_admin_of_the_whole_project(agent_of, project, alice, bob):
    for who in (bob, agent_of(project, owner="carol", verbs=["read", "write", "admin"], namespaces=[MAIN])):
        made = store(who, MAIN).json()["id"]
        answer = who.client.delete(f"/api/v1/fragments/{made}?everywhere=true")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
        assert who.client.get(f"/api/v1/fragments/{made}").status_code == 200
        body = {"namespace": MAIN, "ids": [made], "expected_count": 1, "everywhere": True}
        assert who.client.post("/api/v1/forget", body, format="json").status_code == 403
    made = store(alice, MAIN).json()["id"]
    assert alice.client.delete(f"/api/v1/fragments/{made}?everywhere=perhaps").status_code == 400
    assert alice.client.get(f"/api/v1/fragments/{made}").status_code == 200


def test_by_filter_and_by_command(alice, capsys):
    for number, name in enumerate((MAIN, SIDE)):
        store(alice, name, tags=["bill"])
        body = {"namespace": name, "tags": ["bill"], "expected_count": 1, "everywhere": bool(number)}
        assert alice.client.post("/api/v1/forget", body, format="json").json()["count"] == 1
        assert store(alice, "acme:other").status_code == (409 if number else 201)
    other = store(alice, "acme:one", "Otters swim.").json()["id"]
    call_command("forget", "--namespace", "acme:one", "--id", other, "--expect", "1", "--everywhere", "--json")
    assert store(alice, "acme:two", "otters SWIM.").status_code == 409


def test_lifting_by_namespace_leaves_the_others(alice, agent_of, project):
    for name in (MAIN, SIDE):
        forget(alice, name)
    narrow = agent_of(
        project, owner="dora", ceiling="user_explicit", verbs=["read", "write", "admin"], namespaces=[MAIN]
    )
    assert lift(narrow).status_code == 404
    assert lift(narrow, namespace=SIDE).status_code == 404
    assert lift(narrow, namespace=MAIN).json() == {"lifted": 1}
    assert (store(alice, MAIN).status_code, store(alice, SIDE).status_code) == (201, 409)
    assert lift(alice, namespace=MAIN).status_code == 404
    call_command("lift", TEXT, "--project", "acme", "--namespace", SIDE)
    assert store(alice, SIDE).status_code == 201
    assert lift(alice, namespace="acme:nowhere").status_code == 404


def test_a_fork_bars_what_its_source_forgot_and_forgets_for_itself(alice, principal, run):
    forget(alice)
    store(alice, MAIN, "The heron nests.")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=MAIN)
    assert run("fork", place, target=SIDE)["copied"] == 1
    assert store(alice, SIDE).status_code == 409
    forget(alice, SIDE, "Otters swim.")
    assert store(alice, MAIN, "Otters swim.").status_code == 201
    # Merged, what is barred on either side stays away.
    assert run("merge", place, source=SIDE)["counts"]["blocked_by_erasure"] == 0


def test_a_bundle_keeps_where_and_an_old_one_bars_the_project(alice, principal, run):
    forget(alice)
    store(alice, MAIN, "The heron nests.")
    store(alice, SIDE, "Badgers dig.")
    backup = run("backup")["backup_id"]
    with access.enter(principal, why="test"):
        Erasure.objects.all().delete()
        Namespace.objects.filter(name=MAIN).delete()
    store(alice, MAIN, "Cranes dance.")  # under another id
    assert run("restore", backup_id=backup)["blocked_by_erasure"] == 0
    assert (store(alice, MAIN).status_code, store(alice, SIDE).status_code) == (409, 201)
    with access.enter(principal, why="test"):
        Erasure.objects.all().update(namespace_id=None)
    assert store(alice, "acme:third").status_code == 409


def test_what_was_forgotten_elsewhere_returns_from_a_backup(alice, run, principal):
    kept = store(alice, SIDE).json()["id"]
    backup = run("backup", namespaces=[SIDE])["backup_id"]
    forget(alice)
    with access.enter(principal, why="test"):
        Namespace.objects.filter(name=SIDE).delete()
    assert run("restore", backup_id=backup)["blocked_by_erasure"] == 0
    assert alice.client.get(f"/api/v1/fragments/{kept}").status_code == 200
