"""Decisions that were taken back: no older backup lets them hold again, least of all without their ruling."""

import pytest
from django.db.models import F

from memories import access
from memories.models import Fragment, Namespace

URL = "/api/v1"
CLAIM = {"subject": "trip", "predicate": "budget"}


@pytest.fixture
def weak(project, agent_of):
    """A model's key."""
    return agent_of(project, owner="model", ceiling="inference")


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def choose(alice, weak, carol):
    """A reviewer chooses what a model said, as a claim or as a text, over what the user said.

    The memories and the conflict.
    """

    def supersede(*, as_claim=True):
        def store_claim(by, content, source, value):
            body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}}
            body |= {"claim": {**CLAIM, "value": value}} if value else {}
            return by.client.post(f"{URL}/fragments", body, format="json").json()

        said = store_claim(alice, "The trip budget is $750.", "user_explicit", "$750")
        told = store_claim(weak, "The trip budget is $900 now.", "inference", "$900" if as_claim else None)
        (conflict,) = told["pending_conflicts"]
        path = f"{URL}/conflicts/{conflict['id']}"
        wish = {"action": "supersede", "revision": carol.client.get(path).json()["revision"]}
        assert carol.client.post(f"{path}/resolve", wish, format="json").status_code == 200
        return said["id"], told["id"], path

    return supersede


@pytest.fixture
def statuses(carol):
    """How memories stand."""
    return lambda *ids: [carol.client.get(f"{URL}/fragments/{i}").json()["status"] for i in ids]


@pytest.mark.parametrize("as_claim", [True, False])
def test_a_choice_that_was_undone_when_an_older_backup_is_restored_stays_undone(
    as_claim, choose, statuses, carol, back_up, restore
):
    said, told, path = choose(as_claim=as_claim)
    row = back_up()
    assert carol.client.post(f"{path}/undo", {}, format="json").status_code == 200
    restore(row)
    assert statuses(said, told) == ["active", "quarantined"]


@pytest.mark.parametrize("as_claim", [True, False])
def test_a_choice_without_its_ruling_when_it_comes_over_what_stands_waits(
    as_claim, choose, statuses, carol, principal, back_up, restore
):
    said, told, path = choose(as_claim=as_claim)
    row = back_up()
    assert carol.client.post(f"{path}/undo", {}, format="json").status_code == 200
    with access.enter(principal, why="test"):  # as undos left it before they were dated
        Fragment.objects.filter(id__in=[said, told]).update(updated_at=F("created_at"), revision=1)
    restore(row)
    assert statuses(said, told) == ["active", "quarantined"]


def test_a_choice_when_its_ruling_holds_here_comes_back(choose, statuses, principal, back_up, restore):
    said, told, _ = choose()
    row = back_up()
    with access.enter(principal, why="test"):  # a copy that is behind
        Fragment.objects.filter(id=told).update(status="quarantined", updated_at=F("created_at"))
        Fragment.objects.filter(id=said).update(status="active", superseded_by=None, updated_at=F("created_at"))
    restore(row)
    assert statuses(said, told) == ["superseded", "active"]


def test_an_upheld_dispute_that_was_undone_when_an_older_backup_is_restored_stays_undone(
    alice, weak, carol, statuses, back_up, restore
):
    body = {"namespace": "acme:main", "content": "I live in Graz.", "provenance": {"source": "user_explicit"}}
    said = alice.client.post(f"{URL}/fragments", body, format="json").json()["id"]
    doubt = weak.client.post(f"{URL}/fragments/{said}/dispute", {"reason": "No."}, format="json").json()
    path = f"{URL}/conflicts/{doubt['conflict_id']}"
    wish = {"action": "supersede", "revision": carol.client.get(path).json()["revision"]}
    assert carol.client.post(f"{path}/resolve", wish, format="json").status_code == 200
    assert statuses(said) == ["disputed"]
    row = back_up()
    assert carol.client.post(f"{path}/undo", {}, format="json").status_code == 200
    restore(row)
    assert statuses(said) == ["active"]


def test_a_choice_that_comes_with_its_ruling_holds_against_what_was_said_meanwhile(
    choose, statuses, project, agent_of, principal, back_up, restore
):
    tool = agent_of(project, owner="tool", ceiling="tool_output")

    def report(value):
        claim = {**CLAIM, "value": value}
        body = {"namespace": "acme:main", "content": f"The trip budget is {value}.", "claim": claim}
        body |= {"provenance": {"source": "tool_output"}}
        answer = tool.client.post(f"{URL}/fragments", body, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()

    said, told, _ = choose()
    row = back_up()
    with access.enter(principal, why="test"):
        Namespace.objects.all().delete()
    meanwhile = report("$13")
    assert meanwhile["status"] == "active"
    restore(row)
    assert statuses(said, told, meanwhile["id"]) == ["superseded", "active", "superseded"]
    assert report("$14")["status"] == "quarantined"


def test_what_the_user_said_before_a_ruling_ruled_it_out_comes_back_ruled_out(
    alice, choose, statuses, principal, back_up, restore
):
    body = {"namespace": "acme:main", "provenance": {"source": "user_explicit"}, "claim": {**CLAIM, "value": "$750"}}
    _, lost = (
        alice.client.post(f"{URL}/fragments", body | more, format="json").json()["id"]
        for more in ({"content": "The trip budget is $750."}, {"content": "The trip may cost $750.", "key": "trip"})
    )
    row = back_up()
    with access.enter(principal, why="test"):  # a copy that it never reached
        Fragment.objects.filter(id=lost).delete()
    said, told, _ = choose()
    restore(row)
    assert statuses(said, told, lost) == ["superseded", "active", "archived"]
