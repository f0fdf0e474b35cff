"""A text of several facts of which one was ruled out: that one is rejected, the others are decided by themselves."""

import pytest

from tests.conflicts.rulings.conftest import decide, get, only, rulings, take_back

BUDGET = {"subject": "user", "predicate": "budget"}
DOG = {"subject": "bob", "predicate": "dog name", "value": "Rex"}


@pytest.fixture
def say(agent_of, project):
    """Store a text with these claims, by an agent of an owner's."""
    agents = {}

    def store(owner, content, *claims, source="tool_output", **more):
        agents[owner] = agents.get(owner) or agent_of(project, owner=owner, ceiling="user_explicit")
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **more}
        body |= {"claims": list(claims)} if claims else {}
        answer = agents[owner].client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return store


@pytest.fixture
def chosen(say, carol):
    """A person chose a second tool's $900 over $750; the conflict's id."""
    say("tool", "The budget is $750.", BUDGET | {"value": "$750"})
    late = say("other", "The budget is $900.", BUDGET | {"value": "$900"})
    conflict = only(late["pending_conflicts"])["id"]
    decide(carol, conflict, "supersede")
    return conflict


@pytest.fixture
def rejected(say, carol):
    """A document's $900 stands, no stronger than before, and a person ruled $750 out; the conflict's id."""
    say("paper", "The budget is $900.", BUDGET | {"value": "$900"}, source="document")
    late = say("guess", "The budget is $750.", BUDGET | {"value": "$750"}, source="inference")
    conflict = only(late["pending_conflicts"])["id"]
    decide(carol, conflict, "reject")
    return conflict


@pytest.fixture(params=["chosen", "rejected"])
def ruled(request):
    """$750 was ruled out, in either way; the conflict's id."""
    return request.getfixturevalue(request.param)


def standing(agent, fragment):
    """The fragment's status, and those of its claims by value."""
    shown = get(agent, f"fragments/{fragment['id']}")
    return shown["status"], {one["value"]: one["status"] for one in shown["claims"]}


def served(agent, fragment, query="what is the budget?"):
    """How a search and a context block show a memory: the claim that it contradicts, and its line."""
    body = {"query": query, "namespace": "acme:main", "floor": 0}
    answer = agent.client.post("/api/v1/search", body, format="json").json()["results"]
    hit = only([row for row in answer if row["id"] == fragment["id"]])
    assert answer.index(hit) > 0  # what stands goes before it
    block = agent.client.post("/api/v1/context", body, format="json").json()["prompt_prefix"]
    lines = [line for line in block.splitlines() if fragment["content"] in line]
    return hit["contradicts"], only(lines)


ACCEPTED = {"$750": "archived", "Rex": "active"}


def test_the_claim_is_rejected_and_counted_and_the_others_stand(ruled, say, carol):
    told = say("tool", "Bob's dog is Rex; the budget is $750.", BUDGET | {"value": "$750"}, DOG)
    assert standing(carol, told) == ("active", ACCEPTED)
    assert only(rulings(carol))["repeats"] == 1


def test_its_sentence_is_never_served_without_a_label(ruled, say, carol):
    told = say("tool", "Bob's dog is Rex; the budget is $750.", BUDGET | {"value": "$750"}, DOG)
    contradicts, line = served(carol, told)
    assert contradicts["value"] == "$900"
    assert "rejected: user budget $750" in line


def test_who_says_it_beside_another_claim_brings_it_back_no_more(ruled, say, carol):
    """A sentence that claims nothing of the kind counts as the claim that it is."""
    told = say("tool", "Bob's dog is Rex; the user's budget is $750.", DOG)
    assert standing(carol, told) == ("active", ACCEPTED)
    assert only(rulings(carol))["repeats"] == 1
    contradicts, line = served(carol, told)
    assert contradicts["value"] == "$900"
    assert "rejected: user budget $750" in line


def test_a_text_of_nothing_else_is_archived(ruled, say, carol):
    told = [say("tool", "The user's budget is $750 then."), say("tool", "So be it.", BUDGET | {"value": "$750"})]
    assert [standing(carol, one)[0] for one in told] == ["archived", "archived"]


def test_where_no_further_claim_has_room_the_text_is_archived(ruled, say, carol):
    many = [{"subject": "bob", "predicate": f"fact {n}", "value": str(n)} for n in range(20)]
    told = say("tool", "Bob has facts; the user's budget is $750.", *many)
    assert standing(carol, told)[0] == "archived"


def test_a_claim_of_a_session_hides_nothing_that_was_ruled_out(ruled, say, carol):
    told = say("tool", "Rex is fine; the user's budget is $750.", {**DOG, "scope": "session", "session_id": "s1"})
    assert standing(carol, told)[0] == "archived"


def test_whoever_writes_it_into_a_memory_that_stands_brings_it_back_no_more(ruled, say, carol, agent_of, project):
    told = say("tool", "Bob's dog is Rex.", DOG)
    change = {"content": "Bob's dog is Rex; the user's budget is $750.", "revision": told["revision"]}
    agent = agent_of(project, owner="tool", ceiling="user_explicit")
    assert agent.client.patch(f"/api/v1/fragments/{told['id']}", change, format="json").status_code == 200
    assert standing(carol, told) == ("active", ACCEPTED)


def test_a_text_that_claims_what_stands_and_states_what_was_ruled_out_is_archived(ruled, say, carol):
    """The two exclude each other, so that one text claims no more than one."""
    told = say("tool", "Bob's dog is Rex; the user's budget is $750.", BUDGET | {"value": "$900"}, DOG)
    assert standing(carol, told)[0] == "archived"


def test_of_a_turn_the_other_facts_are_believed(chosen, say, carol, agent_of, project):
    agent = agent_of(project, owner="talk", ceiling="user_implicit")
    turn = {"role": "user", "content": "I moved to Oslo in May. My budget is $750. I work at Siemens."}
    body = {"namespace": "acme:main", "messages": [turn]}
    (told,) = agent.client.post("/api/v1/ingest", body, format="json").json()["stored"]
    status, claims = standing(carol, told)
    assert (status, claims["$750"]) == ("active", "archived")
    assert {one["value"] for one in get(carol, "claims")["results"]} >= {"$900", "Oslo", "Siemens"}


def test_taken_back_it_is_heard_beside_the_others(chosen, say, carol):
    told = say("tool", "Bob's dog is Rex; the budget is $750.", BUDGET | {"value": "$750"}, DOG)
    weaker = say(
        "paper", "Bob's dog is Rex, and the budget is $750.", BUDGET | {"value": "$750"}, DOG, source="document"
    )
    take_back(carol, chosen)
    assert standing(carol, told) == ("active", {"$750": "active", "Rex": "active"})
    assert standing(carol, weaker) == ("active", {"$750": "active", "Rex": "active"})


def test_taken_back_a_weaker_one_waits(rejected, say, carol):
    told = say("note", "Bob's dog is Rex; it is $750.", BUDGET | {"value": "$750"}, DOG, source="inference")
    take_back(carol, rejected)
    assert standing(carol, told) == ("active", {"$750": "quarantined", "Rex": "active"})
    assert told["id"] in {row["newcomer"]["id"] for row in get(carol, "conflicts")["results"]}


def test_taken_back_a_stronger_one_replaces(rejected, say, carol):
    told = say("tool", "Bob's dog is Rex; the budget is $750.", BUDGET | {"value": "$750"}, DOG)
    take_back(carol, rejected)
    assert standing(carol, told) == ("active", {"$750": "active", "Rex": "active"})
    (believed,) = get(carol, "claims", subject="user", predicate="budget")["results"]
    assert believed["value"] == "$750"


def test_what_another_ruling_rejects_stays_so(rejected, say, carol):
    late = say("guess", "The budget is $13.", BUDGET | {"value": "$13"}, source="inference")
    second = only(late["pending_conflicts"])["id"]
    decide(carol, second, "reject")
    told = say("tool", "Bob's dog is Rex; the budget is $750.", BUDGET | {"value": "$750"}, DOG)
    take_back(carol, second)
    assert standing(carol, told) == ("active", ACCEPTED)


def test_taken_back_free_texts_are_heard(chosen, say, carol):
    told = say("tool", "Budget: 750 dollars, says Bob, who also bought a boat in Genoa.")
    other = say("other", "The user's budget is $750 for the trip.")
    assert {standing(carol, one)[0] for one in (told, other)} == {"archived"}
    take_back(carol, chosen)
    assert {standing(carol, one)[0] for one in (told, other)} == {"active"}


def test_taken_back_a_free_text_that_still_contradicts_waits(say, carol):
    say("alice", "The budget is $900.", BUDGET | {"value": "$900"}, source="system")
    late = say("guess", "The budget is $750.", BUDGET | {"value": "$750"}, source="inference")
    conflict = only(late["pending_conflicts"])["id"]
    decide(carol, conflict, "reject")
    told = say("tool", "The user's budget is $750 for the trip.")
    assert standing(carol, told)[0] == "archived"
    take_back(carol, conflict)
    assert standing(carol, told)[0] == "quarantined"


def test_taken_back_a_free_text_that_another_ruling_bars_stays_away(rejected, say, carol):
    late = say("guess", "The budget is $13.", BUDGET | {"value": "$13"}, source="inference")
    second = only(late["pending_conflicts"])["id"]
    decide(carol, second, "reject")
    told = say("tool", "The user's budget is $750 for the trip.")
    take_back(carol, second)
    assert standing(carol, told)[0] == "archived"
    take_back(carol, rejected)
    assert standing(carol, told)[0] == "active"
