"""The claims that a question asks for: sought among those at hand they are the same as by all that it may mean."""

import uuid

import pytest

from conflicts.free_text import ClaimsAtHand, Upheld, keys_sought
from conflicts.keys import Naming, Rule, spellings_of
from conflicts.keys import names as naming

NAMES = Naming(
    b"salt", spellings_of([Rule("employer", exclusive=True, aliases=("works at", "paid by", "coffee place"))])
)
PLAIN = Naming(NAMES.salt, {})
CLAIMS = {
    "home": ("user", "lives_in", "Lisbon"),
    "work": ("Melanie", "employer", "Acme"),
    "pets": ("melanie", "pets", "two cats"),
    "gate": ("staging", "gate code", "4711"),
    "other": ("Zoltan", "birthday", "May 3"),
}
QUESTIONS = {
    "Where do I live?": {"home"},
    "Who is Melanie paid by?": {"work"},
    "Where does Melanie work?": {"work"},
    "What is the gate code of staging?": {"gate"},
    "Which coffee place does Melanie like?": {"work"},
    "What time is it?": set(),
}
TEXTS = ["Melanie works at Acme and has pets.", "I moved to Lisbon; I live there now."]


def upheld(subject: str, predicate: str, value: str, names: Naming = NAMES) -> Upheld:
    key = names.key(subject, predicate).both
    return Upheld(uuid.uuid4(), uuid.uuid4(), subject, predicate, value, True, key, 1, "user_explicit")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_asks_for_what_it_names(question: str) -> None:
    keys = keys_sought(question, [], [NAMES])
    assert {name for name, claim in CLAIMS.items() if upheld(*claim).key in keys} >= QUESTIONS[question]
    assert upheld(*CLAIMS["other"]).key not in keys


def test_texts_tell_of_what_the_question_names() -> None:
    text = "Melanie adopted two cats last week, lovely pets."
    assert upheld(*CLAIMS["pets"]).key in keys_sought("How is Melanie?", [text], [NAMES])
    assert upheld(*CLAIMS["pets"]).key not in keys_sought("How is Bob?", [text], [NAMES])


@pytest.mark.parametrize("names", [[NAMES], [PLAIN], [NAMES, PLAIN], [PLAIN, NAMES]])
@pytest.mark.parametrize("texts", [[], TEXTS])
@pytest.mark.parametrize("question", QUESTIONS)
def test_claims_at_hand_and_those_looked_up_are_the_same(question: str, texts: list[str], names: list[Naming]) -> None:
    """Also where namespaces have rules of their own, and a claim's name is another one's alias."""
    claims = [upheld(*told, each) for told in CLAIMS.values() for each in names]
    claims += [upheld("Melanie", "coffee place", "Acme", each) for each in names]
    all_keys = keys_sought(question, texts, names)
    assert [c for c in claims if c.key in keys_sought(question, texts, names, among=claims)] == [
        c for c in claims if c.key in all_keys
    ]
    assert keys_sought(question, texts, names, among=[]) == set()


def test_no_more_predicates_are_remembered_than_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "MOST_REMEMBERED", 3)
    names = Naming(b"salt", {})
    assert [names.canonical(f"gate code {n}") for n in range(9)] == [f"gate code {n}" for n in range(9)]
    assert len(names._canonical) <= 3


@pytest.mark.parametrize(
    ("question", "predicate", "value"),
    [
        ("Where do I work?", "works_at", "Siemens"),
        ("Where does the user work?", "works_at", "Siemens"),
        ("What do I do for a living?", "role", "baker"),
        ("Who am I?", "name", "Jan"),
    ],
)
def test_a_question_asks_for_a_claim_in_words_of_its_own(question: str, predicate: str, value: str) -> None:
    claim = upheld("user", predicate, value, PLAIN)
    assert ClaimsAtHand(question, [claim], {claim.namespace_id: PLAIN}).asked_for == [claim]
    assert not ClaimsAtHand("When does it rain?", [claim], {claim.namespace_id: PLAIN}).asked_for
