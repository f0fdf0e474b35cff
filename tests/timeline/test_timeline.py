"""The timeline: decisions, operations and containments on one line, and what two points of it differ in."""

import datetime

import pytest

from memories import access, jobs
from memories.models import Namespace
from memories.rest.users import address_of

SIDES = ("before", "after")


@pytest.fixture
def project(committed):
    """Of which each request is a transaction of its own: the line follows these."""
    return committed


@pytest.fixture
def main(project):
    """A namespace's name."""
    return f"{project.name}:main"


@pytest.fixture
def principal(project):
    """The service."""
    return access.system_principal(project)


@pytest.fixture
def carol(project, agent_of):
    """A reviewer who administers all of the project."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


def get(agent, path, *, code=200, **query):
    answer = agent.client.get(f"/api/v1/{path}", query)
    assert answer.status_code == code, answer.json()
    return answer.json()


def line(agent, **query):
    return get(agent, "timeline", **query)["results"]


def said(agent, value, *, source="tool_output", predicate="budget", **more):
    claim = {"subject": "acme", "predicate": predicate, "value": value}
    body = {
        "namespace": f"{agent.principal.project}:main",
        "content": f"The {predicate} is {value}.",
        "claim": claim,
        **more,
    }
    answer = agent.client.post("/api/v1/fragments", {**body, **more, "provenance": {"source": source}}, format="json")
    assert answer.status_code == 201, answer.json()
    return answer.json()


def decide(agent, conflict, action):
    body = {"action": action, "revision": get(agent, f"conflicts/{conflict['id']}")["revision"]}
    assert agent.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", body, format="json").status_code == 200


def done(principal, kind, namespace=None, **options):
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=namespace) if namespace else None
    operation = jobs.start(principal, kind=kind, namespace=place, options=options, now=_now(), wake_up=False)
    return jobs.run(principal, operation.id)


def _now():
    return datetime.datetime.now(datetime.UTC)


@pytest.fixture
def decided(alice, bob, carol):
    """A conflict that was settled, and taken back."""
    said(alice, "$1", source="user_explicit")
    conflict = said(bob, "$2")["pending_conflicts"][0]
    decide(carol, conflict, "supersede")
    carol.client.post(f"/api/v1/conflicts/{conflict['id']}/undo", {}, format="json")
    return conflict["id"]


def test_a_decision_and_what_took_it_back(carol, decided, main):
    back, decision = line(carol)
    assert [(one["kind"], one["id"]) for one in (decision, back)] == [("decision", decided)] * 2
    assert (decision["action"], decision["undoes"]) == ("supersede", None)
    assert (back["action"], back["undoes"]) == ("", decided)
    assert decision["owner_id"] == str(carol.principal.owner_id)
    assert (decision["namespace"], decision["user"]) == (main, None)


def test_what_ended_by_itself_is_no_decision(alice, bob):
    said(alice, "$1", source="user_explicit")
    waits = said(bob, "$2")
    assert alice.client.delete(f"/api/v1/fragments/{waits['id']}").status_code == 204
    assert [one["kind"] for one in line(alice)] == ["forgetting"]


def test_what_was_forgotten_at_once_is_an_entry_that_names_nothing_of_it(alice, carol, agent_of, project, main):
    gone, of_ann = said(alice, "$8", predicate="fee"), said(alice, "$9", user="ann")
    many = [said(alice, f"${n}", predicate=f"price {n}")["id"] for n in range(2)]
    assert carol.client.delete(f"/api/v1/fragments/{gone['id']}").status_code == 204
    body = {"namespace": main, "ids": many, "expected_count": 2}
    assert carol.client.post("/api/v1/forget", body, format="json").status_code == 200
    assert carol.client.delete(f"/api/v1/fragments/{of_ann['id']}?user=ann").status_code == 204
    both, one = line(carol, kind="forgetting")
    assert (one["id"], one["namespace"], one["action"]) == (gone["id"], main, "memories")
    assert (both["id"] in many, both["namespace"], both["action"]) == (True, main, "memories")
    assert {each["owner_id"] for each in (both, one)} == {str(carol.principal.owner_id)}
    (of_user,) = line(carol, kind="forgetting", user="ann", namespace=main)
    assert (of_user["id"], of_user["namespace"], of_user["user"]) == (of_ann["id"], main, "ann")
    here = agent_of(project, owner="here", namespaces=[main], verbs=["read"])
    assert line(here, kind="forgetting") == [both, one]


def test_an_erased_user_is_an_entry_without_the_name(alice, carol, agent_of, project, main):
    said(alice, "$10", user="ann")
    said(alice, "$11", user="ann", namespace=f"{main}-2")
    assert carol.client.delete(f"/api/v1/users/{address_of('ann')}?expected_count=2").status_code == 200
    (erased,) = line(carol, kind="forgetting")
    assert (erased["namespace"], erased["user"], erased["action"]) == (None, None, "user")
    assert erased["owner_id"] == str(carol.principal.owner_id)
    here = agent_of(project, owner="here", namespaces=[main], verbs=["read"])
    assert line(here, kind="forgetting") == []


def test_an_operation_that_forgets_many_is_one_entry(alice, carol, principal, main):
    gone = said(alice, "$1", source="user_explicit")
    how = {"filters": {}, "ids": [gone["id"]], "expected_count": 1, "authority": 6, "purge_backups": False}
    run = done(principal, "forget", main, **how)
    assert [(one["kind"], one["id"], one["action"]) for one in line(carol)] == [("forgetting", str(run.id), "")]


@pytest.mark.usefixtures("storage")
def test_operations_and_what_took_them_back(carol, principal, main):
    said(carol, "$1", source="user_explicit")
    run = done(principal, "consolidate", main)
    undone = jobs.start_undo(principal, run.id, now=_now(), wake_up=False)
    jobs.run(principal, undone.id)
    done(principal, "backup")
    done(principal, "rebuild", main, target="keywords")
    backup, back, consolidation = line(carol)
    assert (consolidation["kind"], consolidation["id"], consolidation["undoes"]) == ("consolidation", str(run.id), None)
    assert (back["kind"], back["undoes"]) == ("consolidation", str(run.id))
    assert (backup["kind"], backup["namespace"]) == ("backup", None)


def test_a_dry_run_is_nothing_that_happened(carol, principal, main):
    said(carol, "$1", source="user_explicit")
    with access.enter(principal, why="test"):
        place = Namespace.objects.get(name=main)
    wish = {"kind": "consolidate", "namespace": place, "options": {}, "dry_run": True}
    operation = jobs.start(principal, **wish, now=_now(), wake_up=False)
    jobs.run(principal, operation.id)
    assert line(carol) == []


def test_a_containment_and_its_undo(carol, bob):
    said(bob, "$1")
    body = {"owner": "bob"}
    made = carol.client.post("/api/v1/containments", body, format="json").json()
    carol.client.post(f"/api/v1/containments/{made['id']}/undo", {}, format="json")
    assert [(one["kind"], one["id"], one["undoes"]) for one in line(carol)] == [
        ("containment", made["id"], made["id"]),
        ("containment", made["id"], None),
    ]


def test_pages_lead_on_and_back(carol, alice, bob):
    for n in range(5):
        said(alice, "$1", source="user_explicit", predicate=f"price {n}")
        decide(carol, said(bob, "$2", predicate=f"price {n}")["pending_conflicts"][0], "reject")
    whole = line(carol)
    first = get(carol, "timeline", limit=2)
    second = carol.client.get(first["next"]).json()
    third = carol.client.get(second["next"]).json()
    assert [*first["results"], *second["results"], *third["results"]] == whole
    assert (first["previous"], third["next"]) == (None, None)
    assert carol.client.get(second["previous"]).json()["results"] == first["results"]
    assert carol.client.get(third["previous"]).json()["results"] == second["results"]
    assert get(carol, "timeline", code=400, cursor="x")["code"] == "validation"


@pytest.mark.usefixtures("decided")
def test_by_kind_and_time(carol):
    assert line(carol, kind="backup") == []
    assert len(line(carol, kind="decision")) == 2
    now = _now()
    assert line(carol, since=now.isoformat()) == []
    assert line(carol, until=(now - datetime.timedelta(days=1)).isoformat()) == []


@pytest.mark.usefixtures("decided", "storage")
def test_a_part_of_the_project_sees_its_part(carol, agent_of, project, principal, neighbour, main):
    done(principal, "backup")
    elsewhere = agent_of(project, owner="part", namespaces=[f"{project.name}:elsewhere"], verbs=["read"])
    here = agent_of(project, owner="here", namespaces=[main], verbs=["read"])
    assert (line(elsewhere), line(agent_of(neighbour, owner="other"))) == ([], [])
    assert {one["kind"] for one in line(here)} == {"decision"}
    assert {one["kind"] for one in line(carol, namespace=main)} == {"decision"}
    get(elsewhere, "timeline", namespace=main, code=404)


def test_a_difference_tells_what_is_believed_otherwise(alice, bob, carol, main):
    said(bob, "$1")
    stays = said(alice, "red", predicate="colour", source="user_explicit")
    point = _now()
    said(alice, "$2", source="user_explicit")
    said(alice, "10", predicate="staff", source="user_explicit")
    found = get(carol, "timeline/difference", namespace=main, since=point.isoformat())
    told = [
        (one["predicate"], *([v["value"] for v in one[side]] for side in ("before", "after"))) for one in found["keys"]
    ]
    assert told == [("budget", ["$1"], ["$2"]), ("staff", [], ["10"])]
    assert {(one["before"], one["after"]): one["count"] for one in found["memories"]} == {
        (None, "active"): 2,
        ("active", "superseded"): 1,
    }
    nothing = get(carol, "timeline/difference", since=point.isoformat(), until=point.isoformat())
    assert (nothing["keys"], nothing["memories"]) == ([], [])
    assert stays["id"] not in str(found)


def test_a_key_is_one_whatever_it_is_called(alice, bob, carol, main):
    claim = {"subject": "Ann", "predicate": "employer", "value": "Acme"}
    said(bob, "", source="document", claim=claim)
    point = _now()
    newer = {**claim, "subject": "ann", "predicate": "works_at", "value": "Globex"}
    assert said(alice, "", claim=newer)["superseded"]
    (found,) = get(carol, "timeline/difference", namespace=main, since=point.isoformat())["keys"]
    sides = [[one["value"] for one in found[side]] for side in ("before", "after")]
    assert (found["predicate"], sides) == ("works_at", [["Acme"], ["Globex"]])


def test_a_difference_of_what_was_forgotten_names_no_text(alice, carol):
    point = _now()
    gone = said(alice, "$7", source="user_explicit")
    between = _now()
    alice.client.delete(f"/api/v1/fragments/{gone['id']}")
    after = get(carol, "timeline/difference", since=between.isoformat())
    assert (after["keys"], after["memories"]) == ([], [{"before": "active", "after": None, "count": 1}])
    assert get(carol, "timeline/difference", since=point.isoformat(), until=between.isoformat())["keys"] == []


def test_a_difference_backwards_is_refused(carol):
    body = {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    assert get(carol, "timeline/difference", code=400, **body)["code"] == "validation"


def test_what_users_said_stays_with_them(alice, agent_of, project):
    point = _now()
    said(alice, "$1", source="user_explicit", user="ann")
    ann = get(alice, "timeline/difference", since=point.isoformat(), user="ann")
    assert [(one["user"], one["predicate"]) for one in ann["keys"]] == [("ann", "budget")]
    assert get(alice, "timeline/difference", since=point.isoformat(), user="bo")["keys"] == []
    assert get(alice, "timeline/difference", since=point.isoformat())["keys"] == []


def test_of_too_much_nothing_is_told(alice, carol, monkeypatch):
    monkeypatch.setattr("memories.timeline.differences.MOST_CLAIMS", 1)
    point = _now()
    for predicate in ("budget", "staff"):
        said(alice, "1", predicate=predicate, source="user_explicit")
    assert get(carol, "timeline/difference", code=409, since=point.isoformat())["code"] == "too_much_changed"
