"""What a memory that goes ended by beginning goes on, as long as nothing else ends it."""

import pytest

MAIN = "acme:main"
URL = "/api/v1/fragments"
KEY = {"subject": "ann", "predicate": "city"}
JANUARY, MARCH, MAY = (f"2026-0{month}-01T00:00:00Z" for month in (1, 3, 5))
PAST = "2020-01-01T00:00:00Z"


@pytest.fixture
def lives(alice):
    """Says where Ann lives, since when and until when."""

    def say(city, since=None, until=None, by=None, source="tool_output", code=201):
        times = {name: at for name, at in (("valid_from", since), ("valid_until", until)) if at}
        claim = {**KEY, "value": city, **times, **({"scope": "temporal"} if times else {})}
        body = {"namespace": MAIN, "content": f"Ann lives in {city}, from {since} to {until}.", "claim": claim}
        answer = (by or alice).client.post(URL, {**body, "provenance": {"source": source}}, format="json")
        assert answer.status_code == code, answer.content
        return answer.json()

    return say


def forget(agent, *fragment_ids):
    body = {"namespace": MAIN, "ids": list(fragment_ids), "expected_count": len(fragment_ids)}
    answer = agent.client.post("/api/v1/forget", body, format="json")
    assert answer.status_code == 200, answer.content


def patch(agent, fragment_id, **changes):
    answer = agent.client.patch(f"{URL}/{fragment_id}", changes, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def until(agent, fragment_id):
    """When what it claims ends."""
    return agent.client.get(f"{URL}/{fragment_id}").json()["claim"]["valid_until"]


def since_when(agent, fragment_id):
    """When what it claims begins."""
    return agent.client.get(f"{URL}/{fragment_id}").json()["claim"]["valid_from"]


def believed(agent):
    told = agent.client.get("/api/v1/claims", {"namespace": MAIN, **KEY}).json()
    return [one["value"] for one in told["results"]]


def test_what_a_forgotten_memory_ended_goes_on(alice, lives):
    oslo, rome = lives("Oslo"), lives("Rome", JANUARY)
    assert until(alice, oslo["id"]) == JANUARY
    assert believed(alice) == ["Rome"]
    assert alice.client.delete(f"{URL}/{rome['id']}").status_code == 204
    assert until(alice, oslo["id"]) is None
    assert believed(alice) == ["Oslo"]


def test_by_its_text_too(alice, lives):
    lives("Oslo")
    body = {"namespace": MAIN, "content": lives("Rome", JANUARY)["content"], "expected_count": 1}
    assert alice.client.post("/api/v1/forget", body, format="json").status_code == 200
    assert believed(alice) == ["Oslo"]


def test_an_end_of_its_own_stays(alice, lives):
    oslo, rome = lives("Oslo", until=MAY), lives("Rome", JANUARY)
    forget(alice, rome["id"])
    assert until(alice, oslo["id"]) == MAY


def test_what_begins_later_ends_it_instead(alice, lives):
    oslo, rome = lives("Oslo"), lives("Rome", JANUARY, MARCH)
    lives("Pisa", MAY)
    forget(alice, rome["id"])
    assert until(alice, oslo["id"]) == MAY
    assert believed(alice) == ["Pisa"]


def test_who_took_the_time_since_keeps_it(alice, lives):
    oslo, rome = lives("Oslo"), lives("Rome", JANUARY)
    assert lives("Pisa", JANUARY)["superseded"] == [rome["id"]]
    forget(alice, rome["id"])
    assert until(alice, oslo["id"]) == JANUARY
    assert believed(alice) == ["Pisa"]


def test_what_the_forgotten_one_replaced_besides_stands_again_first(alice, lives):
    oslo, pisa = lives("Oslo"), lives("Pisa", MARCH)
    rome = lives("Rome", JANUARY, "2099-01-01T00:00:00Z")
    assert rome["superseded"] == [pisa["id"]]
    forget(alice, rome["id"])
    assert until(alice, oslo["id"]) == MARCH
    assert believed(alice) == ["Pisa"]


def test_two_that_ended_it_one_after_the_other(alice, lives):
    oslo, rome, pisa = lives("Oslo"), lives("Rome", MARCH), lives("Pisa", JANUARY)
    assert until(alice, oslo["id"]) == JANUARY
    forget(alice, rome["id"])
    assert until(alice, oslo["id"]) == JANUARY
    forget(alice, pisa["id"])
    assert until(alice, oslo["id"]) is None


def test_both_at_once(alice, lives):
    oslo, rome, pisa = lives("Oslo"), lives("Rome", MARCH), lives("Pisa", JANUARY)
    forget(alice, rome["id"], pisa["id"])
    assert until(alice, oslo["id"]) is None


def test_what_a_person_ruled_out_does_not_go_on(alice, bob, agent_of, project, lives):
    carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review"])
    oslo, _ = lives("Oslo", by=bob), lives("Rome", JANUARY, source="user_explicit")
    again = lives("Oslo", MAY, by=bob)
    assert again["status"] == "quarantined"
    (conflict,) = alice.client.get("/api/v1/conflicts", {"namespace": MAIN, "status": "pending"}).json()["results"]
    settle = {"action": "reject", "revision": conflict["revision"]}
    assert carol.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", settle, format="json").status_code == 200
    rome = alice.client.get("/api/v1/claims", {"namespace": MAIN, **KEY}).json()["results"][0]["fragment_id"]
    forget(alice, rome)
    assert until(alice, oslo["id"]) == JANUARY
    assert believed(alice) == []


def test_who_waits_meets_what_goes_on(alice, bob, lives):
    oslo = lives("Oslo", source="user_explicit")
    rome = lives("Rome", JANUARY, source="user_explicit")
    waits = lives("Pisa", MAY, by=bob)
    assert waits["status"] == "quarantined"
    forget(alice, rome["id"])
    assert believed(alice) == ["Oslo"]
    assert alice.client.get(f"{URL}/{waits['id']}").json()["status"] == "quarantined"
    (conflict,) = alice.client.get("/api/v1/conflicts", {"namespace": MAIN, "status": "pending"}).json()["results"]
    assert (conflict["newcomer"]["id"], conflict["existing"]["id"]) == (waits["id"], oslo["id"])


def test_a_claim_that_is_taken_back_ends_nothing(alice, lives):
    oslo, rome = lives("Oslo"), lives("Rome", JANUARY)
    patch(alice, rome["id"], content="Ann stays where she is.", claim=None)
    assert until(alice, oslo["id"]) is None
    assert believed(alice) == ["Oslo"]


@pytest.mark.parametrize(("since", "end"), [(MARCH, MARCH), (JANUARY, JANUARY)])
def test_a_claim_that_begins_at_another_time_ends_it_there(alice, lives, since, end):
    oslo, rome = lives("Oslo"), lives("Rome", JANUARY if since == MARCH else MARCH)
    patch(alice, rome["id"], claim={**KEY, "value": "Rome", "scope": "temporal", "valid_from": since})
    assert until(alice, oslo["id"]) == end
    assert believed(alice) == ["Rome"]
    forget(alice, rome["id"])
    assert until(alice, oslo["id"]) is None


def test_another_text_ends_what_it_ended(alice, lives):
    oslo, rome = lives("Oslo"), lives("Rome", JANUARY)
    patch(alice, rome["id"], content="Ann has lived in Rome since January.")
    assert until(alice, oslo["id"]) == JANUARY
    assert believed(alice) == ["Rome"]


@pytest.mark.parametrize("since", ["2015-01-01T00:00:00Z", None])
def test_what_is_over_leaves_what_holds_now_and_gives_its_time_back(alice, lives, since):
    oslo, paris = lives("Oslo"), lives("Paris", since, PAST)
    assert (paris["status"], paris["superseded"]) == ("active", [])
    assert (since_when(alice, oslo["id"]), until(alice, oslo["id"])) == (PAST, None)
    assert believed(alice) == ["Oslo"]
    forget(alice, paris["id"])
    assert since_when(alice, oslo["id"]) is None


def test_what_is_over_cuts_off_an_earlier_beginning(alice, lives):
    oslo, paris = lives("Oslo", "2010-01-01T00:00:00Z"), lives("Paris", "2015-01-01T00:00:00Z", PAST)
    assert since_when(alice, oslo["id"]) == PAST
    patch(alice, paris["id"], content="Ann was in Paris.", claim=None)
    assert since_when(alice, oslo["id"]) == "2010-01-01T00:00:00Z"


def test_another_that_is_over_keeps_its_time(alice, lives):
    oslo, rome = lives("Oslo"), lives("Rome", "2016-01-01T00:00:00Z", PAST)
    pisa = lives("Pisa", "2010-01-01T00:00:00Z", "2014-01-01T00:00:00Z")
    assert pisa["superseded"] == []
    forget(alice, rome["id"])
    assert since_when(alice, oslo["id"]) == "2014-01-01T00:00:00Z"
    forget(alice, pisa["id"])
    assert since_when(alice, oslo["id"]) is None


def test_a_contained_one_that_is_over_gives_its_time_back(alice, agent_of, project, lives):
    carol = agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])
    oslo, paris = lives("Oslo"), lives("Paris", None, PAST)
    done = carol.client.post("/api/v1/containments", {"content": paris["content"]}, format="json").json()
    assert since_when(alice, oslo["id"]) is None
    assert carol.client.post(f"/api/v1/containments/{done['id']}/undo", {}, format="json").status_code == 200
    assert since_when(alice, oslo["id"]) == PAST
