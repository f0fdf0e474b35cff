"""A weaker text beside a claim is held against it, whatever the key is called, the date says, and who repeats it."""

import pytest

from conflicts.free_text.contradictions import Standing, is_spoken_of, read
from conflicts.free_text.sightings import same_date

URL = "/api/v1"
NAMESPACE = "acme:main"


@pytest.fixture
def weak(project, agent_of):
    """A model's key."""
    return agent_of(project, owner="model", ceiling="inference")


@pytest.fixture
def store_memory():
    """Stores a memory by an agent."""

    def post(by, content, *, source="inference", **more):
        body = {"namespace": NAMESPACE, "content": content, "provenance": {"source": source}, **more}
        answer = by.client.post(f"{URL}/fragments", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def hits(weak):
    """What a question finds, best first."""

    def results_of(query, **more):
        body = {"namespace": NAMESPACE, "query": query, **more}
        answer = weak.client.post(f"{URL}/search", body, format="json")
        assert answer.status_code == 200, answer.json()
        return answer.json()["results"]

    return results_of


@pytest.mark.parametrize("form", ["0000-1-1", "/1/1/0000"])
def test_a_weekday_when_the_other_date_is_of_the_year_nought_is_another(form):
    assert same_date("friday", form) is False


def test_a_weak_text_of_the_year_nought_when_a_weekday_is_claimed_stops_no_search(alice, weak, store_memory, hits):
    store_memory(weak, "My deadline is 0000-01-01.")
    claim = {"subject": "user", "predicate": "deadline", "value": "Friday"}
    said = store_memory(alice, "My deadline is Friday.", source="user_explicit", claim=claim)
    assert said["id"] in [hit["id"] for hit in hits("When is my deadline?")]


@pytest.mark.parametrize("subject", ["trip", "proj_alpha", "Ann's trip", "q3", "room 4b", "O'Brien"])
def test_a_weaker_text_when_the_subject_is_no_plain_word_stands_not_above_the_claim(
    subject, alice, weak, store_memory, hits
):
    claim = {"subject": subject, "predicate": "budget", "value": "$750"}
    said = store_memory(
        alice, "Finance and I agreed that we may spend $750 there.", source="user_explicit", claim=claim
    )
    told = store_memory(weak, f"We have a budget of $350 for {subject} now.")
    found = hits(f"What is the budget for {subject}?")
    order = [hit["id"] for hit in found]
    assert said["id"] in order
    for hit in found:
        if hit["id"] == told["id"]:
            assert order.index(said["id"]) < order.index(told["id"])
            assert hit["contradicts"] or hit["on_record"]


def test_a_weaker_text_when_its_value_is_only_claimed_by_a_weaker_claim_is_labelled(alice, weak, store_memory, hits):
    claim = {"subject": "regatta", "predicate": "budget", "value": "$750"}
    store_memory(alice, "The regatta budget is $750.", source="user_explicit", claim=claim)
    store_memory(weak, "Noted.", claim={**claim, "value": "$900"}, user="eve")
    told = store_memory(weak, "We agreed on $900 as the regatta budget.", user="eve")
    (hit,) = [hit for hit in hits("What is the regatta budget?", user="eve") if hit["id"] == told["id"]]
    assert hit["contradicts"]


@pytest.mark.parametrize("predicate", ["q3 budget", "s3 bucket", "node.js version", "k8s_cluster"])
def test_a_weaker_text_when_the_predicate_is_no_plain_word_stands_not_above_the_claim(
    predicate, alice, weak, store_memory, hits
):
    said = store_memory(alice, "That one is 17.", source="user_explicit", claim={
        "subject": "harbour", "predicate": predicate, "value": "17",
    })  # fmt: skip
    name = predicate.replace("_", " ")
    told = store_memory(weak, f"The {name} of the harbour is 99.")
    found = {hit["id"]: place for place, hit in enumerate(hits(f"What is the {name} of the harbour?"))}
    assert found[said["id"]] < found.get(told["id"], 99)


@pytest.mark.parametrize("subject", ["my", "a", "The", "our"])
def test_a_question_when_a_claims_subject_is_an_article_or_a_possessive_is_answered(subject, weak):
    body = {"namespace": "acme:main", "content": "It is $7.", "provenance": {"source": "inference"}}
    body["claim"] = {"subject": subject, "predicate": "budget", "value": "$7"}
    assert weak.client.post(f"{URL}/fragments", body, format="json").status_code == 201
    question = {"namespace": "acme:main", "query": f"What is {subject} budget for the whole trip?"}
    assert weak.client.post(f"{URL}/search", question, format="json").status_code == 200


@pytest.mark.parametrize("subject", ["my", "a", "the", "an", "our"])
def test_what_is_spoken_of_when_a_subject_is_only_an_article_is_decided(subject):
    said = read(f"What is {subject} budget for the whole trip?")
    assert is_spoken_of(said, Standing(subject, "budget", "$7", "money", ())) in (True, False)


@pytest.mark.parametrize("date", ["/25/12/2026", "2026-13-45", "2026-02-30"])
def test_a_weekday_when_the_other_date_reads_only_one_way_or_is_none_is_compared(date):
    assert same_date("friday", date) in (True, False)


def test_a_date_with_the_day_first_when_a_weekday_stands_is_stored(alice, store_memory):
    claim = {"subject": "user", "predicate": "deadline", "value": "Friday"}
    store_memory(alice, "My deadline is Friday.", source="tool_output", claim=claim)
    store_memory(alice, "My deadline is 25/12/2026.", source="tool_output")


def test_a_weak_text_of_a_number_beyond_all_counting_stops_no_search(alice, weak, store_memory, hits):
    store_memory(weak, "The trip budget is " + "hundred " * 160 + "dollars.")
    claim = {"subject": "trip", "predicate": "budget", "value": "$750"}
    said = store_memory(alice, "The trip budget is $750.", source="user_explicit", claim=claim)
    assert said["id"] in [hit["id"] for hit in hits("What is the trip budget?")]
