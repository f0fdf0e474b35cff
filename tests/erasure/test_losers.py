"""What lost to a forgotten memory stands again when nothing else opposes it."""

import pytest

MAIN = "acme:main"
URL = "/api/v1/fragments"


def store_claim(agent, amount, *, source="tool_output", predicate="budget"):
    body = {
        "namespace": MAIN,
        "content": f"The {predicate} is {amount}.",
        "claim": {"subject": "user", "predicate": predicate, "value": amount},
        "provenance": {"source": source},
    }
    answer = agent.client.post(URL, body, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()["id"]


def standing(agent, fragment_id):
    row = agent.client.get(f"{URL}/{fragment_id}").json()
    return row["status"], row["superseded_by"]


def forget(agent, fragment_id):
    answer = agent.client.delete(f"{URL}/{fragment_id}")
    assert answer.status_code == 204, answer.content
    return answer.headers.get("X-NovaMem-Restored")


def believed(agent):
    told = agent.client.get("/api/v1/claims", {"namespace": MAIN, "subject": "user", "predicate": "budget"}).json()
    return [one["value"] for one in told["results"]]


def test_a_loser_stands_again(alice):
    lost, won = store_claim(alice, "$48,000"), store_claim(alice, "$84,000", source="user_explicit")
    assert standing(alice, lost) == ("superseded", won)
    assert forget(alice, won) == lost
    assert standing(alice, lost) == ("active", None)
    assert believed(alice) == ["$48,000"]


def test_by_filter_too(alice):
    lost, won = store_claim(alice, "$48,000"), store_claim(alice, "$84,000", source="user_explicit")
    body = {"namespace": MAIN, "ids": [won], "expected_count": 1}
    told = alice.client.post("/api/v1/forget", {**body, "dry_run": True}, format="json").json()
    assert told["restored_ids"] == []
    assert alice.client.post("/api/v1/forget", body, format="json").json()["restored_ids"] == [lost]
    assert standing(alice, lost) == ("active", None)


def test_both_forgotten_at_once_bring_nothing_back(alice):
    lost, won = store_claim(alice, "$48,000"), store_claim(alice, "$84,000", source="user_explicit")
    body = {"namespace": MAIN, "ids": [won, lost], "expected_count": 2}
    assert alice.client.post("/api/v1/forget", body, format="json").json()["restored_ids"] == []
    assert believed(alice) == []


def test_the_last_of_a_chain_goes_and_the_one_before_stands(alice):
    first, second, third = (store_claim(alice, amount) for amount in ("$1", "$2", "$3"))
    assert forget(alice, third) == second
    assert (standing(alice, first), standing(alice, second)) == (("superseded", second), ("active", None))


def test_another_that_stands_on_the_key_wins(alice):
    first, second, third = (store_claim(alice, amount) for amount in ("$1", "$2", "$3"))
    assert forget(alice, second) is None
    assert (standing(alice, first), standing(alice, third)[0]) == (("superseded", third), "active")
    conflicts = alice.client.get("/api/v1/conflicts", {"namespace": MAIN, "status": "pending"}).json()
    assert conflicts["results"] == []


def test_of_several_losers_the_strongest_stands(alice, bob):
    weak = store_claim(alice, "$1", source="inference")
    strong = store_claim(alice, "$2", source="tool_output")
    assert standing(alice, weak) == ("superseded", strong)
    won = store_claim(alice, "$3", source="user_explicit")
    assert forget(alice, strong) is None
    assert standing(alice, weak) == ("superseded", won)
    assert forget(alice, won) == weak
    assert standing(alice, weak) == ("active", None)


def test_what_a_person_decided_against_stays_away(alice, agent_of, project, bob):
    old = store_claim(bob, "$48,000")
    other = agent_of(project, owner="carol")
    new = store_claim(other, "$84,000")
    (conflict,) = alice.client.get("/api/v1/conflicts", {"namespace": MAIN, "status": "pending"}).json()["results"]
    settle = {"action": "supersede", "revision": conflict["revision"]}
    assert alice.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", settle, format="json").status_code == 200
    assert standing(alice, old) == ("superseded", new)
    assert forget(alice, new) is None
    assert standing(alice, old) == ("superseded", None)


def test_what_said_the_same_as_the_forgotten_one_stays_away(alice):
    restated, won = store_claim(alice, "$48,000"), store_claim(alice, "48,000 USD", source="user_explicit")
    assert standing(alice, restated) == ("superseded", won)
    assert forget(alice, won) is None
    assert standing(alice, restated)[0] == "superseded"


@pytest.mark.parametrize("ruler", ["user_explicit", "tool_output"])
def test_a_later_writer_meets_what_stands_again(alice, bob, ruler):
    lost, won = store_claim(alice, "$48,000", source=ruler), store_claim(alice, "$84,000", source="user_explicit")
    forget(alice, won)
    body = {
        "namespace": MAIN,
        "content": "The budget is $9.",
        "claim": {"subject": "user", "predicate": "budget", "value": "$9"},
        "provenance": {"source": "tool_output"},
    }
    assert bob.client.post(URL, body, format="json").json()["status"] == "quarantined"
    assert standing(alice, lost)[0] == "active"


def test_one_claim_of_a_memory_that_lost_stands_again_and_answers_who_waits(alice, agent_of, project):
    paper, scan, tool = (
        agent_of(project, owner=name, ceiling=ceiling)
        for name, ceiling in (("paper", "document"), ("scan", "document"), ("tool", "tool_output"))
    )
    claims = [{"subject": "user", "predicate": name, "value": "$1"} for name in ("budget", "rent")]
    body = {"namespace": MAIN, "content": "Budget and rent are $1.", "provenance": {"source": "document"}}
    both = paper.client.post(URL, {**body, "claims": claims}, format="json").json()["id"]
    won = store_claim(tool, "$2")
    waits = store_claim(scan, "$1", source="document")
    assert standing(alice, waits)[0] == "quarantined"
    assert forget(alice, won) == both
    assert believed(alice) == ["$1"]
    assert standing(alice, waits) == ("superseded", both)


def test_what_waited_because_of_it_stands(alice, bob):
    won = store_claim(alice, "$48,000", source="user_explicit")
    waits = store_claim(bob, "$84,000")
    assert standing(alice, waits)[0] == "quarantined"
    assert forget(alice, won) == waits
    assert standing(alice, waits) == ("active", None)
    assert believed(alice) == ["$84,000"]
    pending = alice.client.get("/api/v1/conflicts", {"namespace": MAIN, "status": "pending"}).json()["results"]
    assert pending == []


def test_of_two_that_waited_one_stands_and_the_other_waits_for_a_person(alice, bob, agent_of, project):
    won = store_claim(alice, "$48,000", source="user_explicit")
    first, second = store_claim(bob, "$84,000"), store_claim(agent_of(project, owner="carol"), "$9")
    assert forget(alice, won) == first
    assert (standing(alice, first)[0], standing(alice, second)[0]) == ("active", "quarantined")
    (pending,) = alice.client.get("/api/v1/conflicts", {"namespace": MAIN, "status": "pending"}).json()["results"]
    assert (pending["newcomer"]["id"], pending["existing"]["id"]) == (second, first)


def test_what_waited_stays_so_while_another_opposes_it(alice, bob, agent_of, project):
    lost, won = store_claim(alice, "$48,000"), store_claim(alice, "$50,000", source="user_explicit")
    waits = store_claim(bob, "$84,000")
    assert forget(alice, won) == lost
    assert (standing(alice, lost)[0], standing(alice, waits)[0]) == ("active", "quarantined")


def test_free_text_that_waited_stands(alice, bob):
    won = store_claim(alice, "$48,000", source="user_explicit")
    body = {"namespace": MAIN, "content": "The user's budget is $84,000.", "provenance": {"source": "tool_output"}}
    waits = bob.client.post(URL, body, format="json").json()
    assert waits["status"] == "quarantined"
    assert forget(alice, won) == waits["id"]
    assert standing(alice, waits["id"])[0] == "active"


def test_losers_with_keys_of_their_own_stand_beside_each_other_again(alice):
    def keep(key, content):
        body = {"namespace": MAIN, "content": content, "key": key, "provenance": {"source": "tool_output"}}
        body |= {"claim": {"subject": "user", "predicate": "budget", "value": "$48,000"}}
        answer = alice.client.post(URL, body, format="json")
        assert (answer.status_code, answer.json()["status"]) == (201, "active")
        return answer.json()["id"]

    lost = [keep("k1", "The budget is $48,000."), keep("k2", "Budget: $48,000.")]
    won = store_claim(alice, "$84,000", source="user_explicit")
    assert [standing(alice, one)[0] for one in lost] == ["superseded", "superseded"]
    assert set(forget(alice, won).split(", ")) == {*lost}
    assert [standing(alice, one) for one in lost] == [("active", None)] * 2
    assert believed(alice) == ["$48,000"] * 2
