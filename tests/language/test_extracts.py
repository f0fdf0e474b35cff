"""Extracts: which sentences of several texts tell most."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memories.language.extracts import MOST, SHARE, extract, sentences

TALK = [
    "Gina: Hey Jon! How are you doing today?",
    "Jon: Wow, hey Gina! I lost my job as a banker on Tuesday. It is so sad, really.",
    "Gina: Oh no! I launched an ad campaign for my store in Paris. So great!",
    "Jon: Wow, that is great! Good luck with it, really!",
]


def test_what_was_told_stays_and_greetings_go():
    told = extract(TALK)
    assert "lost my job as a banker on Tuesday" in told
    assert "ad campaign for my store in Paris" in told
    assert len(told) <= SHARE * sum(map(len, TALK))
    assert not any(word in told for word in ("Hey Jon", "Wow", "How are you"))


def test_who_said_it_stands_before_it():
    lines = extract(TALK).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["Jon", "Gina", "Jon"]


@pytest.mark.parametrize("vectors", [None, np.eye(3)])
def test_texts_of_one_sentence_stay_whole(vectors):
    texts = ["The heron nests behind the mill.", "The heron feeds at the weir.", "The heron left in August."]
    assert extract(texts, vectors) == " ".join(texts)


def test_what_says_the_same_is_told_once():
    texts = [
        "The mill was sold in 1987 to Ann Gray.",
        "The mill was sold in 1987 to Ann Gray!",
        "Otters sleep on rafts.",
    ]
    assert extract(texts).count("1987") == 1
    near = np.array([[1, 0], [1, 0.01], [0, 1]])
    assert extract(["Sold in 1987.", "It went to Ann in 1987.", "Otters sleep on rafts."], near).count("1987") == 1


def test_names_numbers_and_dates_are_kept_before_the_rest():
    text = [
        "I think that all of this is really quite good for us. We meet Priya Raman on 4 March at gate 22. "
        "It would be nice and good and fine to see some things there. And so it goes on and on for everybody here.",
    ] * 3
    told = extract([*text])
    assert "Priya Raman on 4 March at gate 22" in told


def test_nothing_told_is_nothing_lost():
    assert extract(["...", "!!!"]) == "... !!!"
    assert extract(["Hm?"]) == "Hm?"


def test_of_many_short_sentences_each_text_gives_some():
    texts = [" ".join(f"q{text}x{n}." for n in range(300)) for text in range(50)]
    found = sentences(texts)
    assert len(found) <= MOST
    assert {sentence.text for sentence in found} == set(range(50))


@given(st.lists(st.text(max_size=300), min_size=1, max_size=6), st.integers(1, 400))
def test_every_extract_is_of_the_texts_and_fits(texts, limit):
    told = extract(texts, limit=limit)
    assert len(told) <= limit
    parts = {sentence.content for sentence in sentences(texts)}
    assert not parts or any(told in part or part in told for part in parts)
