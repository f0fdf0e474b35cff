"""Forgetting a text: all that says it in the scope, whoever said it and under whatever key."""

import pytest
from django.core.management import call_command

from memories import access
from memories.models import Erasure, Fragment, Operation

TEXT = "Ann's code is 4711."


@pytest.fixture
def four(alice, bob):
    """Three memories that say the text, one of them another owner's, and one that does not."""

    def store(agent, content, **more):
        body = {"namespace": "acme:main", "content": content, **more}
        answer = agent.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201, answer.content
        return answer.json()["id"]

    said = [store(alice, TEXT, key="a"), store(alice, TEXT.upper(), key="b"), store(bob, f"  {TEXT[:-1]} !", key="c")]
    alice.client.post(f"/api/v1/fragments/{said[1]}/archive")
    return [*said, store(alice, "Ann's code is 4712.")]


def forget(agent, status=200, **body):
    answer = agent.client.post("/api/v1/forget", {"namespace": "acme:main", **body}, format="json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_all_that_says_it_goes_whatever_its_status(alice, four, count):
    assert set(forget(alice, content=TEXT, dry_run=True)["ids"]) == set(four[:3])
    assert forget(alice, content="ann's CODE is 4711", expected_count=3)["count"] == 3
    assert (count(Fragment), alice.client.get(f"/api/v1/fragments/{four[3]}").status_code) == (1, 200)
    again = alice.client.post("/api/v1/fragments", {"namespace": "acme:main", "content": TEXT}, format="json")
    assert again.json()["code"] == "blocked_by_erasure"


def test_by_id_the_others_stay(alice, four, count):
    assert alice.client.delete(f"/api/v1/fragments/{four[0]}").status_code == 204
    assert count(Fragment) == 3


def test_with_filters_and_ids_all_have_to_hold(alice, four):
    assert forget(alice, content=TEXT, ids=four[:1], dry_run=True)["ids"] == four[:1]
    assert set(forget(alice, content=TEXT, include_all=True, dry_run=True)["ids"]) == set(four[:3])
    assert forget(alice, content=TEXT, tags=["none"], dry_run=True)["count"] == 0


def test_a_text_of_signs_alone_is_that_text(alice, store, count):
    store("acme:main", "?!")
    store("acme:main", "...")
    assert forget(alice, content="?!", expected_count=1)["count"] == 1
    assert count(Fragment) == 1


@pytest.mark.parametrize("content", ["", " ", "x" * 2001, 7])
def test_a_text_that_is_none_forgets_nothing(alice, four, content, count):
    forget(alice, 400, content=content, expected_count=4)
    assert count(Fragment) == 4


def test_by_command_the_operation_keeps_no_text(alice, four, principal, count, capsys):
    call_command("forget", "--namespace", "acme:main", "--content", TEXT, "--status", "all", "--expect", "3", "--json")
    assert (count(Fragment), count(Erasure)) == (1, 3)
    with access.enter(principal, why="test"):
        assert TEXT not in str(list(Operation.objects.values()))
