"""Amendments: what gives a value said right before another one, and what only looks so."""

import pytest

from memories.extraction.amendments import Said, amended, asked_to_forget

BUDGET = [Said("user", "budget")]


@pytest.mark.parametrize("text", ["Actually make it $650.", "No, I meant $650.", "Sorry, it should be $650."])
def test_the_words_of_an_amendment_give_the_last_value_another(text):
    (claim,) = amended(text, BUDGET)
    assert (claim.predicate, claim.value) == ("budget", "$650")


@pytest.mark.parametrize("text", ["Oh it's $3", "Hey, it's 5 dollars", "ok it's $12", "No, it's $5."])
def test_an_answer_to_something_else_amends_nothing(text):
    assert amended(text, BUDGET) == []


def test_a_letter_is_no_word_to_forget_by():
    assert asked_to_forget("Forget what I said about C++") == frozenset()
    assert asked_to_forget("Forget what I said about my ex") == {"ex"}
