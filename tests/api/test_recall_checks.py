"""/api/v1/recall-checks and /api/v1/recall-runs."""

import uuid

import pytest

from memories import jobs
from memories.models import Operation, RecallCheck

URL, FILE, RUNS = "/api/v1/recall-checks", "/api/v1/recall-checks/file", "/api/v1/recall-runs"
HERON = {"namespace": "acme:main", "question": "Where does the heron nest?", "text": "old mill"}


@pytest.fixture
def heron(store):
    """A memory that answers the question."""
    return store("acme:main", "The heron nests behind the old mill.")


def post(agent, url=URL, status=201, **body):
    answer = agent.client.post(url, body, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def run(agent, principal, **body):
    made = post(agent, RUNS, 202, **body)
    jobs.run(principal, uuid.UUID(made["id"]))
    return agent.client.get(f"/api/v1/operations/{made['id']}").json()


def test_keep_and_run_works(alice, bob, principal, heron):
    kept = post(bob, **HERON, name="heron", note="by the water")
    assert (kept["name"], kept["text"], kept["memory"], kept["value"], kept["top_k"]) == (
        "heron",
        "old mill",
        None,
        None,
        10,
    )
    assert (kept["passed"], kept["replaced"]) == (None, False)
    told = run(bob, principal)
    assert (told["state"], told["report"]["passed"], told["report"]["failed"]) == ("succeeded", 1, [])
    (row,) = alice.client.get(URL, {"state": "passed", "namespace": "acme:main"}).json()["results"]
    assert (row["id"], row["passed"], row["place"]) == (kept["id"], True, 1)
    assert alice.client.get(f"{URL}/{kept['id']}").json() == row
    (ran,) = alice.client.get(RUNS).json()["results"]
    assert (ran["cause"], ran["passed"], ran["failed"], ran["operation_id"]) == ("asked", 1, [], told["id"])


def test_a_run_that_waits_does_for_another(alice, bob, principal, heron, count):
    post(bob, **HERON)
    first = post(bob, RUNS, 202)["id"]
    assert post(bob, RUNS, 202)["id"] == first
    others = {post(alice, RUNS, 202)["id"], post(bob, RUNS, 202, namespace="acme:main")["id"]}
    assert (len(others - {first}), count(Operation)) == (2, 3)
    jobs.run(principal, uuid.UUID(first))
    assert post(bob, RUNS, 202)["id"] != first


def test_the_same_name_is_replaced(bob, heron, count):
    first = post(bob, **HERON)
    again = post(bob, status=200, **{**HERON, "text": "water", "name": HERON["question"]})
    assert (again["id"], again["text"], again["replaced"]) == (first["id"], "water", True)
    assert count(RecallCheck) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text": None}, "text"),
        ({"value": "too"}, "text"),
        ({"top_k": 0}, "top_k"),
        ({"memory": "x"}, "memory"),
        ({"question": ""}, "question"),
        ({"namespace": "main"}, "namespace"),
        ({"color": "red"}, "color"),
    ],
)
def test_a_bad_check_is_refused(bob, heron, change, field, count):
    body = {name: value for name, value in {**HERON, **change}.items() if value is not None}
    (error, *_) = post(bob, status=400, **body)["errors"]
    assert error["field"] == field
    assert count(RecallCheck) == 0


def test_who_may_not_write_keeps_runs_and_deletes_nothing(bob, reader, heron, count):
    kept = post(bob, **HERON)
    assert post(reader, status=403, **HERON)["code"] == "not_permitted"
    assert post(reader, RUNS, 403, namespace="acme:main")["code"] == "not_permitted"
    assert reader.client.delete(f"{URL}/{kept['id']}").status_code == 403
    assert reader.client.get(f"{URL}/{kept['id']}").status_code == 200
    assert (count(RecallCheck), count(Operation)) == (1, 0)


def test_another_project_sees_and_does_nothing(bob, charlie, heron, count):
    kept = post(bob, **HERON)
    assert charlie.client.get(URL).json()["results"] == []
    assert charlie.client.get(f"{URL}/{kept['id']}").status_code == 404
    assert charlie.client.delete(f"{URL}/{kept['id']}").status_code == 404
    assert post(charlie, status=404, **HERON)["code"] == "not_found"
    assert count(RecallCheck) == 1


def test_a_key_for_one_namespace_reaches_its_checks_alone(project, agent_of, bob, store, heron, principal):
    store("acme:side", "The otter swims at dawn.")
    side = post(bob, namespace="acme:side", question="When does the otter swim?", text="dawn")
    main = post(bob, **HERON)
    run(bob, principal)
    narrow = agent_of(project, owner="narrow", namespaces=["acme:main"])
    assert [row["id"] for row in narrow.client.get(URL).json()["results"]] == [main["id"]]
    assert narrow.client.get(RUNS).json()["results"] == []
    assert narrow.client.delete(f"{URL}/{side['id']}").status_code == 404
    assert post(narrow, RUNS, 403)["code"] == "not_permitted"
    assert run(narrow, principal, namespace="acme:main")["report"]["checked"] == 1
    assert len(narrow.client.get(RUNS, {"namespace": "acme:main", "cause": "asked"}).json()["results"]) == 1


def test_a_users_checks_are_seen_for_that_user(bob, heron, store, principal):
    store("acme:main", "Mia likes herons.", by=principal.of_user("mia"))
    post(bob, namespace="acme:main", user="mia", question="What does Mia like?", text="herons")
    assert bob.client.get(URL).json()["results"] == []
    assert bob.client.get(URL, {"user": "tom"}).json()["results"] == []
    (row,) = bob.client.get(URL, {"user": "mia"}).json()["results"]
    assert row["namespace"] == "acme:main/mia"


def test_delete_works(bob, heron, count):
    kept = post(bob, **HERON)
    assert bob.client.delete(f"{URL}/{kept['id']}").status_code == 204
    assert bob.client.delete(f"{URL}/{kept['id']}").status_code == 404
    assert count(RecallCheck) == 0


def test_a_file_goes_out_and_comes_back(bob, heron, count):
    post(bob, **HERON)
    text = bob.client.get(FILE).json()["yaml"]
    assert post(bob, FILE, 200, yaml=text) == {"added": 0, "replaced": 1}
    bob.client.delete(f"{URL}/{bob.client.get(URL).json()['results'][0]['id']}")
    assert post(bob, FILE, 200, yaml=text) == {"added": 1, "replaced": 0}
    assert bob.client.get(FILE).json()["yaml"] == text


def test_a_bad_file_is_told_with_its_line(bob, reader, heron, count):
    text = "version: 1\nchecks:\n- namespace: acme:main\n  question: Where?\n  words: mill\n"
    problem = post(bob, FILE, 400, yaml=text)
    assert (problem["code"], problem["errors"][0]["message"][:7]) == ("validation", "line 5:")
    assert post(reader, FILE, 403, yaml=text)["code"] == "not_permitted"
    assert count(RecallCheck) == 0
