"""A forgotten text comes back through no door that puts words around it, nor as the value of a claim."""

import pytest

from memories.models import Fragment, Task
from tests.erasure.conftest import MAIN
from tests.erasure.test_forget import post

TEXT = "The door code is pomelo-4711."
TASK = {"namespace": MAIN, "id": "t1", "title": "Door check", "status": "completed", "summary": ""}
BUILD = {"namespace": MAIN, "project": "p", "phase": "x", "log": {"id": "b1", "summary": TEXT, "status": "ok"}}
CLAIM = {"subject": "locker", "predicate": "says", "value": TEXT}
WAYS = {
    "title of a task": ("tasks", {**TASK, "title": TEXT}),
    "summary of a task": ("tasks", {**TASK, "summary": f"  {TEXT.upper()} "}),
    "task that goes on": ("tasks", {**TASK, "summary": TEXT, "status": "active"}),
    "build": ("bridges/atlas/builds", BUILD),
    "extra": ("fragments", {"namespace": MAIN, "content": "A note.", "extra": {"deep": [{"note": TEXT}]}}),
    "name in extra": ("fragments", {"namespace": MAIN, "content": "A note.", "extra": {TEXT: 1}}),
    "tag": ("fragments", {"namespace": MAIN, "content": "A note.", "tags": [TEXT]}),
    "category": ("fragments", {"namespace": MAIN, "content": "A note.", "category": TEXT}),
    "value of a claim": ("fragments", {"namespace": MAIN, "content": "There is a locker.", "claim": CLAIM}),
}


@pytest.fixture
def forgotten(alice, store):
    """The text was forgotten."""
    row = store(MAIN, TEXT, by=alice.principal, source="tool_output")
    assert post(alice, {"ids": [str(row.id)], "expected_count": 1})["count"] == 1


@pytest.mark.parametrize("way", WAYS)
def test_it_is_barred(alice, forgotten, count, way):
    path, body = WAYS[way]
    answer = alice.client.post(f"/api/v1/{path}", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")
    assert (count(Fragment), count(Task)) == (0, 0)


def test_it_is_barred_from_what_stands_beside_another_and_from_a_title(alice, forgotten):
    other = alice.client.post("/api/v1/fragments", {"namespace": MAIN, "content": "A note."}, format="json").json()
    for change in ({"extra": {"note": TEXT}}, {"tags": [TEXT]}, {"category": TEXT}):
        answer = alice.client.patch(f"/api/v1/fragments/{other['id']}", change, format="json")
        assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")
    episode = {"namespace": MAIN, "title": TEXT, "ids": [other["id"]]}
    answer = alice.client.post("/api/v1/episodes", episode, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")


@pytest.mark.parametrize("way", ["summary of a task", "build"])
def test_it_is_barred_where_something_is_told_anew(alice, forgotten, count, way):
    path, body = WAYS[way]
    harmless = {**TASK} if path == "tasks" else {**BUILD, "log": {**BUILD["log"], "summary": "All is well."}}
    assert alice.client.post(f"/api/v1/{path}", harmless, format="json").status_code == 201
    assert alice.client.post(f"/api/v1/{path}", body, format="json").status_code == 409
    assert alice.client.get("/api/v1/fragments", {"q": "pomelo"}).json()["results"] == []


def test_a_change_brings_it_back_as_no_value_either(alice, forgotten, store):
    row = store(MAIN, "There is a locker.", by=alice.principal)
    answer = alice.client.patch(f"/api/v1/fragments/{row.id}", {"claim": CLAIM}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "blocked_by_erasure")


def test_a_word_alone_bars_no_value(alice, store, count):
    row = store(MAIN, "Oslo", by=alice.principal)
    assert post(alice, {"ids": [str(row.id)], "expected_count": 1})["count"] == 1
    claim = {"subject": "user", "predicate": "city", "value": "Oslo"}
    body = {"namespace": MAIN, "content": "It is where the user lives.", "claim": claim}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
