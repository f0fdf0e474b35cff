"""Texts out of which the claims of an earlier one are read again: what says more is kept, what does not is not."""

import pytest

BODY = {"namespace": "acme:main", "conversation_id": "c1"}


@pytest.fixture
def say(alice):
    """A turn of the user's; what came of it."""

    def post(content):
        body = BODY | {"messages": [{"role": "user", "content": content}]}
        answer = alice.client.post("/api/v1/ingest", body, format="json")
        assert answer.status_code in (200, 201), answer.json()
        (row,) = answer.json()["stored"]
        return row

    return post


@pytest.mark.examples
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I am a vegetarian.", "I am a vegetarian and I can't eat gluten."),
        ("I own a cat.", "I own a cat and a dog."),
        ("I prefer window seats.", "I prefer window seats but not on night trains."),
        ("I prefer tea.", "I prefer tea but my doctor says I must stop because of my heart."),
        ("I speak French.", "I speak French but not well."),
        ("My car is a Volvo.", "My car is a Volvo and its plate is KX-19-PL."),
        ("I live in Oslo.", "I live in Oslo but I sleep in Bergen."),
        ("I have two cats.", "I have two cats, aged 3."),
        ("I own a motorbike.", "I own a motorbike and a motorboat."),
        ("I prefer window seats.", "I prefer window seats except at night."),
        ("My emergency contact is Joana, +351 912 345 678.", "My emergency contact is Joana, +44 20 7946 0958."),
        ("My phone number is 555-0100.", "My phone number is 555-0100 or 555-0101."),
        ("My birthday is March 3.", "My birthday is March 3 or March 4."),
        ("My budget is $500.", "My budget is $500 or $700."),
        ("My budget is $500.", "My budget is $500 (was $400)."),
        ("I own two cats.", "I own two cats since 2019."),
        ("My alarm is at 7:00.", "My alarm is at 7:00 or 7:30."),
    ],
)
def test_what_says_more_is_kept_beside(say, first, then):
    one, other = say(first), say(then)
    assert (other["deduplicated"], other["content"]) == (False, then)
    assert one["id"] != other["id"]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("I live in Oslo.", "I live in Oslo!"),
        ("I live in Oslo.", "I live in Oslo, as you know."),
        ("I prefer tea.", "Well, I prefer tea."),
        ("I live in Oslo.", "I live in Oslo as of 10:01."),
        ("My budget is $1,500.", "My budget is $1500."),
        ("My birthday is March 3.", "My birthday is 3 March."),
    ],
)
def test_what_says_no_more_is_a_repetition(say, first, then):
    one, other = say(first), say(then)
    assert (other["id"], other["deduplicated"]) == (one["id"], True)


def test_what_waits_is_no_conflict_for_each_of_its_wordings(say, bob, alice):
    """A clock in the text would fill the queue of reviewers."""
    say("My budget is $750.")
    told = []
    for minute in range(3):
        body = {"namespace": "acme:main", "content": f"The user's budget is $20 as of noon and {minute} minutes."}
        body |= {"provenance": {"source": "tool_output"}, "extract_claim": True}
        told.append(bob.client.post("/api/v1/fragments", body, format="json").json())
    assert len(alice.client.get("/api/v1/conflicts").json()["results"]) <= 1
    assert len({each["id"] for each in told}) == 1
