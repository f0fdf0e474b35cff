"""What somebody says that they don't like, eat or drink is claimed as what they dislike or avoid. Pure."""

import pytest

from memories.extraction import read_text


def claimed(text):
    return [(claim.predicate, claim.value) for claim in read_text(text, {}).claims]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't like coffee.", [("dislikes", "coffee")]),
        ("I don’t really like tea", [("dislikes", "tea")]),
        ("I do not enjoy horror films.", [("dislikes", "horror films")]),
        ("I don't like flying, but I love trains.", [("dislikes", "flying"), ("likes", "trains")]),
        ("I never drink wine.", [("avoids", "wine")]),
        ("I don't drink alcohol at all.", [("avoids", "alcohol")]),
        ("We don't eat pork and we live in Bonn.", [("avoids", "pork"), ("lives_in", "Bonn")]),
        ("My budget is $2000 and I can't eat peanuts.", [("budget", "$2000"), ("avoids", "peanuts")]),
    ],
)
def test_a_dislike_or_an_abstention_is_claimed(text, expected):
    assert sorted(claimed(text)) == sorted(expected)


@pytest.mark.parametrize(
    "text",
    [
        "I'm not a vegetarian.",
        "I don't have a car.",
        "I don't live in Berlin anymore.",
        "I no longer eat meat.",
        "I don't eat meat anymore.",
        "I used to like tea.",
        "I don't drink coffee after noon.",
        "I don't drink much coffee.",
        "I don't eat enough vegetables.",
        "I don't eat out.",
        "I don't always drink coffee.",
        "I don't just like coffee.",
        "I don't like coffee with sugar.",
        "I don't like it.",
        "If I don't eat meat, I get tired.",
        "Do you think that I don't like coffee?",
        'My wife said "I don\'t eat fish".',
        "Bob doesn't like jazz.",
    ],
)
def test_what_is_no_abstention_or_not_the_speakers_own_claims_nothing(text):
    assert claimed(text) == []


def test_what_is_denied_is_still_taken_back():
    statements = read_text("I don't like coffee.", {}).statements
    assert [(s.predicate, s.value) for s in statements if s.retracts] == [("likes", "coffee")]


@pytest.mark.parametrize(
    ("text", "taken_back"),
    [("I love cilantro.", ("dislikes", "cilantro")), ("I hate cilantro.", ("likes", "cilantro"))],
)
def test_nobody_likes_what_they_dislike(text, taken_back):
    assert [(s.predicate, s.value) for s in read_text(text, {}).statements if s.retracts] == [taken_back]
