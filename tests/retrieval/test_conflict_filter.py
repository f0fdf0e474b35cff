"""Claims of one key in several namespaces: which of them an answer shows, also where a memory claims several things."""

import pytest

URL = "/api/v1"
MINE, THEIRS = "acme:mine", "acme:theirs"


@pytest.fixture
def agents(project, agent_of):
    """The user's agent, and what reads documents; both in two namespaces."""
    return {
        "user": agent_of(project, owner="user", ceiling="user_explicit").client,
        "paper": agent_of(project, owner="paper", ceiling="document").client,
    }


@pytest.fixture
def store_claim(agents):
    def post(by, namespace, content, source, **claims):
        told = [{"subject": "trip", "predicate": name, "value": value} for name, value in claims.items()]
        body = {"namespace": namespace, "content": content, "provenance": {"source": source}, "claims": told}
        answer = agents[by].post(f"{URL}/fragments", body, format="json")
        assert answer.status_code == 201, answer.json()
        return answer.json()["id"]

    return post


@pytest.fixture
def hits(agents):
    def ask(query):
        body = {"namespaces": [MINE, THEIRS], "query": query}
        return agents["user"].post(f"{URL}/search", body, format="json").json()["results"]

    return ask


def test_a_memory_all_of_whose_claims_are_outdone_is_not_shown(store_claim, hits):
    said = store_claim("user", MINE, "The budget of the trip is $750.", "user_explicit", budget="$750")
    store_claim("paper", THEIRS, "The budget of the trip is $0.", "document", budget="$0")
    assert [hit["id"] for hit in hits("What is the budget of the trip?")] == [said]


@pytest.mark.parametrize("first", ["budget", "deadline"])
def test_a_memory_one_of_whose_claims_is_outdone_says_what_it_contradicts(store_claim, hits, first):
    said = store_claim("user", MINE, "The budget of the trip is $750.", "user_explicit", budget="$750")
    claims = {"budget": "$0", "deadline": "2027-03-01"}
    claims = {name: claims[name] for name in (first, *(claims.keys() - {first}))}
    text = "The budget of the trip is $0 and its deadline is 2027-03-01."
    other = store_claim("paper", THEIRS, text, "document", **claims)
    found = hits("What is the budget of the trip?")
    assert [hit["id"] for hit in found] == [said, other]
    assert found[1]["contradicts"]["value"] == "$750"
