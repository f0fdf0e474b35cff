"""The claims that a question asks for: held against those at hand they are the same as by their digests."""

import uuid
from itertools import product

import pytest

from conflicts.free_text import Sought, Upheld
from conflicts.keys import Naming, Rule, spellings_of

NAMES = Naming(b"salt", spellings_of([Rule("employer", exclusive=True, aliases=("works at", "paid by"))]))
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
    "What time is it?": set(),
}


def upheld(subject: str, predicate: str, value: str) -> Upheld:
    key = NAMES.key(subject, predicate).both
    return Upheld(uuid.uuid4(), uuid.uuid4(), subject, predicate, value, True, key, 1, "user_explicit")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_asks_for_what_it_names(question: str) -> None:
    sought = Sought.by(question, [], [NAMES])
    assert {name for name, claim in CLAIMS.items() if sought.holds(upheld(*claim))} >= QUESTIONS[question]
    assert not sought.holds(upheld(*CLAIMS["other"]))


def test_texts_tell_of_what_the_question_names() -> None:
    text = "Melanie adopted two cats last week, lovely pets."
    assert Sought.by("How is Melanie?", [text], [NAMES]).holds(upheld(*CLAIMS["pets"]))
    assert not Sought.by("How is Bob?", [text], [NAMES]).holds(upheld(*CLAIMS["pets"]))


@pytest.mark.parametrize("texts", [[], ["Melanie works at Acme and has pets.", "I moved to Lisbon; I live there now."]])
def test_what_is_at_hand_and_what_is_looked_up_are_the_same(texts: list[str]) -> None:
    for question, claim in product(QUESTIONS, [upheld(*told) for told in CLAIMS.values()]):
        sought = Sought.by(question, texts, [NAMES])
        assert sought.holds(claim) == (claim.key in sought.digests()), (question, claim)


def test_claims_of_other_namespaces_count_by_any_of_the_names() -> None:
    plain = Naming(NAMES.salt, {})
    for names in ([NAMES, plain], [plain, NAMES]):
        assert Sought.by("Who is Melanie paid by?", [], names).holds(upheld(*CLAIMS["work"]))
