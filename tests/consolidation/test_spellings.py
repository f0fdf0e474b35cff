"""Which texts are one wording, spelled otherwise."""

import pytest

from memories.upkeep.consolidation.spellings import spelling

ALIKE = [
    ("I like tea.", "I like tea!"),
    ("I like tea.", "I like tea"),
    ("I like tea", "i  LIKE\n tea..."),
    ("Well, I like tea", "well I like tea"),
    ("I don’t like tea", "I don't like tea!!"),
    ('She said "yes".', "She said: yes"),
    ("**Note**: ask Ann", "Note - ask Ann."),
    ("red,green", "red, green"),
]
APART = [
    ("You like tea?", "You like tea."),
    ("It is -5 outside", "It is 5 outside"),
    ("It is .5", "It is 5"),
    ("It is 1.5", "It is 15"),
    ("It is 7:30", "It is 7 30"),
    ("I write C++", "I write C"),
    ("I write C#", "I write C"),
    ("It costs $5", "It costs 5"),
    ("we're here", "were here"),
    ("ice cream", "icecream"),
    ("I can re-sign", "I can resign"),
    ("...", "!!!"),
    ("The password is Hunter2!", "The password is hunter2"),
    ("The balance is - 500 dollars", "The balance is 500 dollars"),
    ("Profit was (500)", "Profit was 500"),
    ("See /srv/Data", "See /srv/data"),
    ("Run rm * in /tmp", "Run rm in /tmp"),
    ("Send it to US", "Send it to us"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_case_spacing_and_punctuation_are_spelling(one, other):
    assert spelling(one) == spelling(other)


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_may_change_the_meaning_is_none(one, other):
    assert spelling(one) != spelling(other)
