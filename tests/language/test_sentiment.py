"""The mood of a text: what denies, strengthens and dampens it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.sentiment import valence

GOOD = [
    "I am happy",
    "I love this place",
    "Not bad",
    "The food was not bad at all",
    "It isn't terrible",
    "No problem",
    "Don't worry",
    "There was nothing wrong with it",
    "I'm no longer sad",
    "I have never been happier",
    "It couldn't be better",
    "Nothing better than a walk",
    "She is not unhappy",
    "It was not only good, the staff helped too",
    "I can't wait for the wonderful trip",
    "No doubt a great film",
    "No, I love it",
    "I was not there but I love the photos",
    "I'm never not happy here",
    "We finished without trouble",
    "A slightly nice place",
    "I did not go, and the day was wonderful",
    "He isn't here and I enjoy the quiet",
]
BAD = [
    "I am sad",
    "I am not happy",
    "I'm not very happy",
    "I don't love it",
    "I don’t love it",
    "I dont love it",
    "I do not really enjoy this",
    "I never enjoyed it",
    "It was not a good idea",
    "I don't think it is good",
    "This isn't great",
    "There is no hope",
    "She was hardly impressed",
    "Nobody was pleased",
    "We left without success",
    "It couldn't be worse",
    "I was neither happy with it",
    "I am not sure, but it hurts",
    "The photos are fine though the trip was awful",
    "He won't enjoy it",
    "Wasn't fun",
    "I hate it because it is not fun",
]
NEUTRAL = ["The table has four legs.", "I am not at home", "", "Not really", "very", "I love it and I hate it"]


@pytest.mark.parametrize("text", GOOD)
def test_a_good_mood_is_above_nothing(text):
    assert valence(text) > 0


@pytest.mark.parametrize("text", BAD)
def test_a_bad_mood_is_below_nothing(text):
    assert valence(text) < 0


@pytest.mark.parametrize("text", NEUTRAL)
def test_no_mood_is_nothing(text):
    assert valence(text) == 0


def test_one_word_is_no_utmost_and_more_say_more():
    one, two, many = valence("good"), valence("good, great"), valence("good, great, " * 20)
    assert 0 < one < 0.4 < two < 0.6 < many < 1


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ("I am happy", "I am very happy"),
        ("I am a little happy", "I am happy"),
        ("I am a bit happy", "I am so happy"),
        ("It is not bad", "It is good"),
        ("I am slightly sad", "I am extremely sad"),
        ("I am not happy", "I am sad"),
    ],
)
def test_words_before_strengthen_and_weaken(weaker, stronger):
    assert abs(valence(weaker)) < abs(valence(stronger))
    assert valence(weaker) * valence(stronger) > 0


WORDS = ["very", "not", "good", "bad", "happy", "awful", "better", "never", ",", "and", "I", "couldn't"]


@given(st.lists(st.sampled_from(WORDS), max_size=60))
def test_it_stays_within_one(words):
    assert -1 <= valence(" ".join(words)) <= 1
