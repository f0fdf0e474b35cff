"""What somebody says not to be so, doubts or asks is not what they believe; and what it denies stays."""

import pytest

from tests.api.test_store import URL

pytestmark = pytest.mark.examples


@pytest.fixture
def store_statement(alice):
    """What Alice's user says, as a text or with a claim."""

    def post(content, *, by=alice, source="user_explicit", **more):
        body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}, **more}
        answer = by.client.post(URL, body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


def believed(alice, predicate, subject="user"):
    """The values that stand."""
    asked = {"namespace": "acme:main", "subject": subject, "predicate": predicate}
    return [row["value"] for row in alice.client.get("/api/v1/claims", asked).json()["results"]]


FACTS = {
    "budget": ("My budget is $750.", "$750"),
    "lives_in": ("I live in Lisbon.", "Lisbon"),
    "name": ("My name is Alice.", "Alice"),
    "deadline": ("My deadline is 2026-04-30.", "2026-04-30"),
    "favorite_color": ("My favourite colour is green.", "green"),
}
DENIALS = [
    ("budget", "My budget is not $13."),
    ("budget", "My budget isn't $13."),
    ("budget", "My budget is no longer $13."),
    ("budget", "My budget is never $13."),
    ("budget", "I don't think my budget is $13."),
    ("budget", "I doubt my budget is $13."),
    ("budget", "I hope my budget is $13."),
    ("budget", "I am not sure my budget is $13."),
    ("budget", "My budget is $13? No!"),
    ("budget", "My budget was $13."),
    ("budget", "I am joking when I say my budget is $13."),
    ("budget", "My budget is $13 in the game."),
    ("lives_in", "I do not live in Rome."),
    ("lives_in", "I don't think I live in Rome."),
    ("name", "My name is not Eve."),
    ("deadline", "My deadline is not April 5."),
    ("deadline", "My deadline was April 5."),
    ("favorite_color", "My favourite colour is not blue."),
]


@pytest.mark.parametrize("extract", [False, True])
@pytest.mark.parametrize(("predicate", "denial"), DENIALS)
def test_a_denial_replaces_nothing(store_statement, alice, predicate, denial, extract):
    text, value = FACTS[predicate]
    truth = store_statement(text, claim={"subject": "user", "predicate": predicate, "value": value})
    later = store_statement(denial, **({"extract_claim": True} if extract else {}))
    assert later["superseded"] == []
    assert believed(alice, predicate) == [value]
    assert alice.client.get(f"{URL}/{truth['id']}").json()["status"] == "active"


@pytest.mark.parametrize(
    ("predicate", "change", "value"),
    [
        ("budget", "My budget is $900 now.", "$900"),
        ("budget", "My budget is not $750 but $900.", "$900"),
        ("budget", "Make my budget $900.", "$900"),
        ("lives_in", "I live in Rome now.", "Rome"),
    ],
)
def test_a_plain_change_still_does(store_statement, alice, predicate, change, value):
    text, former = FACTS[predicate]
    store_statement(text, claim={"subject": "user", "predicate": predicate, "value": former})
    store_statement(change)
    assert believed(alice, predicate) == [value]


def test_a_denial_that_agrees_does_not_wait(store_statement, alice, bob):
    store_statement("My budget is $750.", claim={"subject": "user", "predicate": "budget", "value": "$750"})
    assert store_statement("The user's budget is not $13.", by=bob, source="tool_output")["status"] == "active"


def test_who_may_not_speak_for_a_user_makes_no_rule(project, agent_of):
    low = agent_of(project, owner="low", ceiling="inference", verbs=["read", "write", "review", "admin"])
    body = {"namespace": "acme:main", "name": "budget", "cardinality": "many"}
    answer = low.client.post("/api/v1/predicates", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")
