"""Free texts that a person chose against a claim: from then on they claim what they were read to say."""

import pytest

URL = "/api/v1"
KEY = {"subject": "trip", "predicate": "budget"}


@pytest.fixture
def agents(project, agent_of):
    """A tool, a model, what reads documents, and a reviewer, each with an owner of its own."""
    ceilings = {"tool": "tool_output", "model": "inference", "paper": "document", "carol": "user_explicit"}
    return {
        name: agent_of(project, owner=name, ceiling=ceiling, verbs=["read", "write", "review"]).client
        for name, ceiling in ceilings.items()
    }


@pytest.fixture
def store_memory(agents):
    """Stores a memory by one of them."""

    def post(by, source, content, value=None):
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}}
        body |= {"claim": {**KEY, "value": value}} if value else {}
        answer = agents[by].post(f"{URL}/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def chosen(agents, store_memory):
    """A model's sentence that the reviewer chose against a tool's claim, and the conflict."""
    store_memory("tool", "tool_output", "The budget of the trip is $750.", "$750")
    told = store_memory("model", "inference", "The trip budget is $900 now.")
    (conflict,) = told["pending_conflicts"]
    settle(agents["carol"], conflict["id"], "resolve", action="supersede")
    return told["id"], conflict["id"]


def settle(client, conflict_id, verb, query="", **wish):
    path = f"{URL}/conflicts/{conflict_id}"
    wish |= {"revision": client.get(f"{path}{query}").json()["revision"]} if wish else {}
    answer = client.post(f"{path}/{verb}{query}", wish, format="json")
    assert answer.status_code == 200, answer.json()


def claims_of(client, fragment_id):
    claims = client.get(f"{URL}/fragments/{fragment_id}").json()["claims"]
    return [(claim["predicate"], claim["value"], claim["status"]) for claim in claims]


def test_a_text_when_it_is_chosen_claims_what_it_says(agents, chosen):
    assert claims_of(agents["carol"], chosen[0]) == [("budget", "$900", "active")]


@pytest.mark.parametrize(("by", "source"), [("paper", "document"), ("tool", "tool_output")])
def test_a_weaker_third_value_beside_a_chosen_text_waits(store_memory, chosen, by, source):
    told = store_memory(by, source, "The trip budget is $1.", "$1")
    assert told["status"] == "quarantined"
    assert [conflict["existing_id"] for conflict in told["pending_conflicts"]] == [chosen[0]]


def test_the_same_value_beside_a_chosen_text_is_a_repetition(store_memory, chosen):
    assert store_memory("model", "inference", "The trip budget is $900.", "$900")["id"] == chosen[0]


def test_undoing_the_choice_of_a_text_takes_its_claim_away(agents, store_memory, chosen):
    settle(agents["carol"], chosen[1], "undo")
    assert claims_of(agents["carol"], chosen[0]) == []
    held = agents["carol"].get(f"{URL}/claims", {"namespace": "acme:main"}).json()["results"]
    assert [claim["value"] for claim in held] == ["$750"]
    assert store_memory("paper", "document", "The trip budget is $1.", "$1")["status"] == "quarantined"


def test_choosing_again_after_undo_claims_again(agents, chosen):
    settle(agents["carol"], chosen[1], "undo")
    settle(agents["carol"], chosen[1], "resolve", action="supersede")
    assert claims_of(agents["carol"], chosen[0]) == [("budget", "$900", "active")]


def test_a_weaker_admin_deletes_no_namespace_that_holds_what_a_person_chose(project, agent_of, agents, chosen):
    weak = agent_of(project, owner="caretaker", ceiling="inference", verbs=["read", "write", "admin"]).client
    tool = agents["carol"].get(f"{URL}/fragments", {"namespace": "acme:main", "status": "all"}).json()["results"]
    for row in tool:  # but for what a person chose nothing is above the caretaker
        if row["id"] != chosen[0]:
            agents["tool"].delete(f"{URL}/fragments/{row['id']}")
    answer = weak.delete(f"{URL}/namespaces/acme:main", {"confirm": "acme:main"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
    assert agents["carol"].get(f"{URL}/fragments/{chosen[0]}").json()["status"] == "active"


class TestOfAUser:
    def test_rulings_are_told_of_the_user_who_is_asked_for(self, project, agent_of, agents):
        body = {"namespace": "acme:main", "user": "ann", "content": "The budget of the trip is $750."}
        body |= {"claim": {**KEY, "value": "$750"}, "provenance": {"source": "tool_output"}}
        agents["tool"].post(f"{URL}/fragments", body, format="json")
        other = {
            **body,
            "content": "The budget is $9.",
            "claim": {**KEY, "value": "$9"},
            "provenance": {"source": "inference"},
        }
        (conflict,) = agents["model"].post(f"{URL}/fragments", other, format="json").json()["pending_conflicts"]
        settle(agents["carol"], conflict["id"], "resolve", query="?user=ann", action="supersede")
        (ruling,) = agents["carol"].get(f"{URL}/rulings", {"user": "ann", "namespace": "acme:main"}).json()["results"]
        assert (ruling["namespace"], ruling["user"], ruling["chosen"][0]["value"]) == ("acme:main", "ann", "$9")
        for of_others in ({"user": "bob"}, {}, {"namespace": "acme:main"}):
            assert agents["carol"].get(f"{URL}/rulings", of_others).json()["results"] == []
