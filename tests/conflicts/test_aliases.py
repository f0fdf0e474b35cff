"""Aliases: one thing has one key under every spelling, and two things have two."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflicts.keys.aliases import names_user, spelled, subject_key
from conflicts.keys.normalization import canonical_key
from conflicts.keys.predicates import KNOWN, SEEDS, Rule, rule_for, spellings_of
from memories.extraction.claims import extract
from memories.extraction.patterns import reader

BENCHES = Path(__file__).parents[2] / "script/benches"
SPELLINGS = [json.loads((BENCHES / name).read_text()) for name in ("_spellings.json", "_spellings_further.json")]
SUBJECTS = [(name, other) for told in SPELLINGS for name, others in told["subjects"].items() for other in others]
PREDICATES = [(name, other) for told in SPELLINGS for name, others in told["predicates"].items() for other in others]
DISTINCT = [pair for told in SPELLINGS for pair in told["distinct"]]
# What may as well be something else: a numbered user, a page about the user, where somebody was born, the price of a
# thing, how long a test takes, when something was handed in.
OTHERS = {
    "user_1",
    "user#1",
    "CurrentUserProfile",
    "home town",
    "price ceiling",
    "likes this color best",
    "submission date",
    "time limit",
    "latest date",
}
FORMS = {"subject": subject_key, "predicate": lambda name: rule_for(predicate=name).name}


def test_the_lists_are_as_long_as_they_have_to_be() -> None:
    assert len(SUBJECTS) + len(PREDICATES) >= 400
    assert len(DISTINCT) >= 140


@pytest.mark.parametrize(("name", "written"), SUBJECTS)
def test_a_subject_under_another_spelling_is_the_same(name: str, written: str) -> None:
    assert (subject_key(written) == name) is (written not in OTHERS)


@pytest.mark.parametrize(("name", "written"), PREDICATES)
def test_a_predicate_under_another_spelling_is_the_same(name: str, written: str) -> None:
    assert (rule_for(predicate=written).name == name) is (written not in OTHERS)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("3m41l", "email"),
        ("electronic mail address", "email"),
        ("mail_address", "email"),
        ("dwells in", "lives_in"),
        ("is resident in", "lives_in"),
    ],
)
def test_a_predicate_in_leet_or_in_other_words_is_the_same(written: str, name: str) -> None:
    assert rule_for(predicate=written).name == name


@pytest.mark.parametrize(("kind", "one", "other"), DISTINCT)
def test_two_things_stay_two(kind: str, one: str, other: str) -> None:
    assert FORMS[kind](one) != FORMS[kind](other)


@given(st.text(st.characters(), max_size=30))
def test_a_key_is_its_own_key(text: str) -> None:
    assert subject_key(subject_key(text)) == subject_key(text)
    plain = spelled(text).plainest
    assert spelled(plain).plainest == plain


@pytest.mark.parametrize("written", ["Parking.Bay", "p4rking bay", "the parking bay", "PARKING_BAYS"])
def test_a_registered_name_is_known_in_disguise_too(written: str) -> None:
    registered = spellings_of([Rule("parking_spot", aliases=("parking_bay",))])
    assert rule_for(predicate=written, registered=registered).name == "parking_spot"


def test_what_is_registered_literally_comes_first() -> None:
    registered = spellings_of([Rule("total_budget")])
    assert rule_for(predicate="total budget", registered=registered).name == "total_budget"
    assert rule_for(predicate="the total budget", registered=registered).name == "total_budget"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("employee", "employee"),
        ("licensee", "licensee"),
        ("works_in", "works_in"),
        ("states", "state"),
        ("pride", "pride"),
        ("team_member", "team_member"),
        ("gender", "gender"),
        ("tender", "tender"),
        ("final_score", "final_score"),
        ("preferred_airline", "preferred_airline"),
    ],
)
def test_a_word_near_a_known_name_stays_itself(written: str, name: str) -> None:
    assert rule_for(predicate=written).name == name


@pytest.mark.parametrize(
    "written", ["the current account holder", "owner of this account", "whoever is talking to you", "the user's self"]
)
def test_who_is_described_as_the_user_is_the_user(written: str) -> None:
    assert subject_key(written) == "user"


@pytest.mark.parametrize(
    "written", ["Uber", "used", "USSR", "chat", "the person", "primary", "user service", "holder of the cup", "R&D;"]
)
def test_a_subject_near_the_users_name_is_somebody_else(written: str) -> None:
    assert subject_key(written) != "user"


@pytest.mark.parametrize(
    "written",
    [
        "<b>user</b>",
        "<p class='x'><em>the</em> user</p >",
        "[b]user[/b]",
        "&lt;i&gt;user&lt;/i&gt;",
        "<a><b>u</b>ser</a>",
        "<b>user</i>",
        "<b>user",
        "user<br/>",
    ],
)
def test_a_subject_in_markup_is_what_it_marks(written: str) -> None:
    assert subject_key(written) == "user"


@pytest.mark.parametrize(
    "written", ["List<String>", "List<b>", "<b></b>", "<stdio.h>", "x < b > c", "items[0]", "[user]/[team]"]
)
def test_what_only_looks_like_markup_stays(written: str) -> None:
    assert subject_key(written) == canonical_key(written).strip(" .,:;!?\"'()[]{}<>/\\|~^=&@")


@pytest.mark.parametrize(("one", "other"), [("AT&amp;T", "AT&T"), ("New%20York", "New York"), ("%2525", "%")])
def test_an_encoded_subject_is_what_it_encodes(one: str, other: str) -> None:
    assert subject_key(one) == subject_key(other)


@pytest.mark.parametrize(
    "written", ["parkng spot", "spot parking", "spot for parking", "parkingSpot (now)", "final parking spot"]
)
def test_a_registered_name_is_made_out_too(written: str) -> None:
    assert rule_for(predicate=written, registered=spellings_of([Rule("parking_spot")])).name == "parking_spot"


def test_what_is_registered_wins_over_what_is_made_out() -> None:
    registered = spellings_of([Rule("final_budget"), Rule("bugdet")])
    for name in ("final_budget", "bugdet"):
        assert rule_for(predicate=name, registered=registered).name == name


@pytest.mark.parametrize("rule", [Rule("shelves", exclusive=False), Rule("shelves", policy="newest")])
def test_no_slip_is_guessed_where_no_person_would_be_asked(rule: Rule) -> None:
    assert rule_for(predicate="shevles", registered=spellings_of([Rule("shelves")])).name == "shelves"
    assert rule_for(predicate="shevles", registered=spellings_of([rule])).name == "shevle"


def test_no_built_in_name_is_taken_for_another() -> None:
    for spelling, rule in KNOWN.items():
        assert rule_for(predicate=spelling) is rule
    assert all(rule_for(predicate=rule.name) is rule for rule in SEEDS)


@pytest.mark.parametrize("name", ["customer", "me", "Human", "User"])
def test_extractor_and_gate_agree_on_who_the_user_is(name: str) -> None:
    assert names_user(name)
    (said,) = extract(f"{name}: My budget is $750.")
    assert subject_key(said.subject) == "user"


@pytest.mark.parametrize("noun", ["current_parking_spot", "total_rent", "max_budget", "current_city", "new_shoe_size"])
def test_extractor_and_gate_agree_on_what_a_noun_names(noun: str) -> None:
    read = reader(noun)
    assert read is not None
    assert read[0] == rule_for(predicate=noun).name
