"""What was said earlier and is told later is history: it replaces nothing that was said since."""

import pytest

from memories import access
from memories.models import Fragment, Link

EARLY, LATE, AHEAD = "2024-01-01T10:00:00Z", "2026-10-01T10:00:00Z", "2099-01-01T10:00:00Z"
PORTO, LISBON = ("I live in Porto.", LATE), ("I live in Lisbon.", EARLY)


@pytest.fixture
def tell(alice):
    """Tells turns of the user, each with when it was said, in one request."""

    def post(*turns, by=alice):
        messages = [{"role": "user", "content": text, **({"at": at} if at else {})} for text, at in turns]
        answer = by.client.post("/api/v1/ingest", {"namespace": "acme:main", "messages": messages}, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()["stored"]

    return post


@pytest.fixture
def stands(principal):
    """What became of each text."""

    def statuses():
        with access.enter(principal, why="test"):
            return dict(Fragment.objects.values_list("content", "status"))

    return statuses


def test_what_was_said_later_holds_whenever_it_is_told(tell, stands, principal, alice):
    (later,), (former,) = tell(PORTO), tell(LISBON)
    assert stands() == {PORTO[0]: "active", LISBON[0]: "superseded"}
    assert (former["status"], former["superseded_by"]) == ("superseded", later["id"])
    with access.enter(principal, why="test"):
        assert Link.objects.filter(fragment=later["id"], other=former["id"], kind="supersedes").exists()
    assert alice.client.get("/api/v1/conflicts").json()["results"] == []


@pytest.mark.parametrize("turns", [(PORTO, LISBON), (LISBON, PORTO)])
def test_in_one_request_the_order_is_that_of_saying(tell, stands, turns):
    tell(*turns)
    assert stands() == {PORTO[0]: "active", LISBON[0]: "superseded"}


def test_what_is_told_without_a_time_is_said_now(tell, stands):
    tell(PORTO)
    tell(("I live in Braga.", None))
    assert stands() == {PORTO[0]: "superseded", "I live in Braga.": "active"}
    tell(LISBON)
    assert stands()["I live in Braga."] == "active"


def test_nothing_is_said_after_it_is_told(tell, stands):
    """A clock that is ahead does not keep its value from being corrected."""
    tell(("I live in Porto.", AHEAD))
    tell(("I live in Braga.", None))
    assert stands() == {"I live in Porto.": "superseded", "I live in Braga.": "active"}


def test_of_a_turn_of_several_claims_only_the_outdated_one_is_history(tell, stands, alice):
    tell(PORTO)
    (row,) = tell(("I live in Lisbon. My budget is $500.", EARLY))
    claims = alice.client.get(f"/api/v1/fragments/{row['id']}").json()["claims"]
    assert {claim["value"]: claim["status"] for claim in claims} == {"Lisbon": "superseded", "$500": "active"}
    assert stands()[PORTO[0]] == "active"


def test_of_several_outdated_claims_nothing_stands(tell, stands):
    tell(("I live in Porto. My budget is $700.", LATE), ("I live in Lisbon. My budget is $500.", EARLY))
    assert stands() == {
        "I live in Porto. My budget is $700.": "active",
        "I live in Lisbon. My budget is $500.": "superseded",
    }


def test_what_was_taken_back_before_it_was_said_stands(tell, stands):
    tell(PORTO)
    tell(("I no longer live in Porto.", EARLY))
    assert stands()[PORTO[0]] == "active"


@pytest.mark.parametrize("rest", ["", " My budget is $500."])
def test_history_stands_again_once_what_came_later_is_forgotten(tell, stands, alice, rest):
    (later,) = tell((PORTO[0] + rest.replace("5", "7"), LATE))
    (former,) = tell((LISBON[0] + rest, EARLY))
    assert alice.client.delete(f"/api/v1/fragments/{later['id']}").status_code == 204
    assert stands() == {former["content"]: "active"}


def test_a_turn_that_is_rewritten_is_said_then(tell, stands, alice):
    tell(PORTO)
    (row,) = tell(("I like tea.", EARLY))
    change = {"content": "I live in Lisbon."}
    assert alice.client.patch(f"/api/v1/fragments/{row['id']}", change, format="json").status_code == 200
    assert stands() == {PORTO[0]: "superseded", LISBON[0]: "active"}
