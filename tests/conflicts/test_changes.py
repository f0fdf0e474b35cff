"""Texts that state the value of a standing claim and change it are in doubt; that state it alone are not. Pure."""

import time

import pytest

from conflicts.free_text.contradictions import Standing, find_contradiction, find_difference, read
from conflicts.free_text.doubts import Nearness, is_in_doubt

BUDGET = Standing("user", "budget", "$750", "money")
DEADLINE = Standing("report", "deadline", "4 May", "date")
HOME = Standing("user", "lives_in", "Lisbon", "text")
PORT = Standing("database", "port", "5432", "number")


def is_labelled(text, claim, *, is_asked_for):
    passages = read(text)
    against = find_contradiction(passages, claim) or find_difference(passages, claim)
    return bool(against) or is_in_doubt(passages, claim, Nearness(0.45, is_asked_for), exclusive=True)


@pytest.mark.parametrize("is_asked_for", [True, False])
@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("The budget of $750 was revised down to $500 today.", BUDGET),
        ("The user's $750 budget was halved.", BUDGET),
        ("The user's $750 budget was doubled.", BUDGET),
        ("The $750 budget has since been raised to $900.", BUDGET),
        ("Finance trimmed the $750 budget by a third.", BUDGET),
        ("Originally $750, the budget stands at $550 today.", BUDGET),
        ("The budget has been tripled from $750.", BUDGET),
        ("The budget is 20% higher than the $750 we agreed.", BUDGET),
        ("The budget of $750, now $600, is for a laptop.", BUDGET),
        ("The deadline of 4 May was moved to 11 May.", DEADLINE),
        ("The deadline is a week later than 4 May.", DEADLINE),
        ("The deadline is two days before 4 May.", DEADLINE),
        ("The 4 May deadline was brought forward by three days.", DEADLINE),
        ("The deadline of 4 May has been extended by a week.", DEADLINE),
        ("The user, who lived in Lisbon, lives in Porto.", HOME),
        ("The user, who used to live in Lisbon, lives in Madrid.", HOME),
        ("The user gave up the flat in Lisbon and lives in Faro.", HOME),
        ("The port of the database, 5432, was changed to 9432.", PORT),
    ],
)
def test_a_text_that_states_the_value_and_changes_it_is_labelled(text, claim, is_asked_for):
    assert is_labelled(text, claim, is_asked_for=is_asked_for)


@pytest.mark.parametrize("is_asked_for", [True, False])
@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("The budget of $750 was approved by Ann on 4 May.", BUDGET),
        ("$750 is what we agreed for the user's budget.", BUDGET),
        ("The user's budget is $750, and the deadline was moved to 11 May.", BUDGET),
        ("Half of the user's $750 budget has been spent.", BUDGET),
        ("The user's budget was raised to $750.", BUDGET),
        ("The user's budget of $750 has not changed.", BUDGET),
        ("The user's budget of $750 was not cut.", BUDGET),
        ("The user's $750 budget went to Ann for approval.", BUDGET),
        ("Nobody cut the user's $750 budget.", BUDGET),
        ("The price is $50 below the user's budget of $750.", BUDGET),
        ("The report's deadline of 4 May was announced on 2 April.", DEADLINE),
        ("The report's deadline is 4 May and won't be extended.", DEADLINE),
        ("The meeting was moved to 3 May because the report's deadline is 4 May.", DEADLINE),
        ("The draft has to be ready two days before the report's deadline of 4 May.", DEADLINE),
        ("The report's deadline is no later than 4 May.", DEADLINE),
        ("The user lives in Lisbon; a sister lives in Porto.", HOME),
        ("The user lived in Porto before and lives in Lisbon.", HOME),
        ("The user now lives in Lisbon instead of Porto.", HOME),
        ("The user's home is in Alfama, a quarter of Lisbon.", HOME),
        ("The user lives in Lisbon and moved house last year.", HOME),
        ("The cache listens on port 6379, the database on 5432.", PORT),
    ],
)
def test_a_text_that_states_the_value_alone_is_not(text, claim, is_asked_for):
    assert not is_labelled(text, claim, is_asked_for=is_asked_for)


@pytest.mark.parametrize(
    "text",
    ["budget $750 was " * 200, "budget " + "of " * 2000 + "$750", "cut " + "the " * 2000 + "$750 budget"],
)
def test_a_text_that_goes_on_and_on_is_read_at_once(text):
    passages = read(text)
    begun = time.process_time()
    is_in_doubt(passages, BUDGET, Nearness(0.6, is_asked_for=True), exclusive=True)
    assert time.process_time() - begun < 1
