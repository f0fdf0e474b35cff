"""What was read out of text replaces only where the registry says that there is one value."""

import pytest

MAIN = "acme:main"


def ingest(agent, *texts):
    messages = [{"role": "user", "content": text} for text in texts]
    answer = agent.client.post("/api/v1/ingest", {"namespace": MAIN, "messages": messages}, format="json")
    assert answer.status_code in (200, 201), answer.json()


def values(agent, predicate):
    rows = agent.client.get("/api/v1/claims", {"subject": "user", "predicate": predicate}).json()["results"]
    return sorted((row["value"], row["exclusive"]) for row in rows)


@pytest.mark.parametrize(
    ("texts", "predicate", "stand"),
    [
        (
            ["I prefer dark mode.", "I prefer short answers."],
            "prefers",
            [("dark mode", False), ("short answers", False)],
        ),
        (["I speak German.", "I speak Portuguese."], "speaks", [("German", False), ("Portuguese", False)]),
        (["My lucky charm is Otto.", "My lucky charm is Rex."], "lucky_charm", [("Otto", False), ("Rex", False)]),
        (["I live in Lisbon.", "I live in Oslo."], "lives_in", [("Oslo", True)]),
    ],
)
def test_only_single_values_are_replaced(alice, texts, predicate, stand):
    for text in texts:
        ingest(alice, text)
    assert values(alice, predicate) == stand


def test_a_claim_that_the_caller_gives_takes_one_value_as_before(alice):
    for value in ("Otto", "Rex"):
        claim = {"subject": "user", "predicate": "lucky_charm", "value": value}
        body = {"namespace": MAIN, "content": f"{value}.", "claim": claim}
        assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 201
    assert values(alice, "lucky_charm") == [("Rex", True)]
