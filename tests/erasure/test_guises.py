"""A forgotten text is known again in another guise; another text is not taken for it."""

import pytest
from django.db.models.expressions import RawSQL

from memories import access
from memories.models import Erasure

TEXT = "The user's budget is $750, says Ann."
GUISES = {
    "without its full stop": "The user's budget is $750, says Ann",
    "with another": "The user's budget is $750, says Ann!!",
    "in quotes": "“The user's budget is $750, says Ann.”",
    "with other quotes inside": "The user’s budget is $750, says Ann.",
    "with spaces": "The  user's   budget is $750 ,  says Ann .",
    "in capitals": "THE USER'S BUDGET IS $750, SAYS ANN.",
    "in full width": "Ｔｈｅ user's budget is $７５０, says Ann.",
    "with a Cyrillic a": "The user's budget is $750, sаys Ann.",
    "with a Greek o": "The user's budget is $750, says Αnn.",
    "with a soft hyphen": "The user's bud\u00adget is $750, says Ann.",
    "with nothing between letters": "The user's bud\u200bget is $750, says Ann.",
    "with dashes": "The user's budget is $750 — says Ann.",
    "as a heading": "** The user's budget is $750, says Ann. **",
    "with marks on its letters": "The user's bu\u0308dget is $750, says A\u0336n\u0336n\u0336.",
    "with letters that have marks": "The user's búdget is $750, says Ãnn.",
    "in Arabic digits": "The user's budget is $٧٥٠, says Ann.",
    "in Devanagari digits": "The user's budget is $७५०, says Ann.",
    "with a Hangul filler": "The user's bud\u3164get is $750, says Ann.",
    "with a variation selector": "The user's budget\ufe0f is $750, says Ann.",
    "with tags that nobody sees": "The user's budget is $750, says Ann.\U000e0041\U000e0042",
    "with spaces between letters": "The user's  b u d g e t  is $750, says  A n n.",
    "with dashes between letters": "T-h-e user's b-u-d-g-e-t is $750, says A-n-n.",
}
OTHERS = {
    "another amount": "The user's budget is $751, says Ann.",
    "another currency": "The user's budget is €750, says Ann.",
    "a part of it": "The user's budget is $750.",
    "words in another order": "Says Ann, the user's budget is $750.",
    "another amount in Arabic digits": "The user's budget is $٧٥١, says Ann.",
    "a word in two": "The user's bud get is $750, says Ann.",
}


@pytest.fixture
def store_text(alice, project):
    """Stores a text by the API; the answer."""

    def post(text, place="main"):
        return alice.client.post(
            "/api/v1/fragments", {"namespace": f"{project.name}:{place}", "content": text}, format="json"
        )

    return post


@pytest.fixture
def forget(alice, store_text):
    """Stores a text and forgets it."""

    def run(text):
        answer = store_text(text)
        assert answer.status_code == 201, answer.content
        assert alice.client.delete(f"/api/v1/fragments/{answer.json()['id']}").status_code == 204

    return run


@pytest.mark.examples
@pytest.mark.parametrize("guise", GUISES)
def test_another_guise_of_a_forgotten_text_is_barred(guise, store_text, forget):
    forget(TEXT)
    answer = store_text(GUISES[guise])
    assert answer.status_code == 409, GUISES[guise]
    assert answer.json()["code"] == "blocked_by_erasure"


@pytest.mark.parametrize(
    "guise",
    ["without its full stop", "with a Cyrillic a", "with letters that have marks", "with spaces between letters"],
)
def test_a_text_that_was_forgotten_in_a_guise_is_barred_as_it_is(guise, store_text, forget):
    forget(GUISES[guise])
    assert store_text(TEXT).status_code == 409


@pytest.mark.parametrize("other", OTHERS)
def test_another_text_is_taken(other, store_text, forget):
    forget(TEXT)
    assert store_text(OTHERS[other]).status_code == 201


@pytest.mark.parametrize(
    ("gone", "stays"),
    [
        ("The balance is -5.", "The balance is 5."),
        ("It is 15 %.", "It is 15."),
        ("???", "!!!"),
        ("Привет 5.", "Пока 5."),
        ("会議は火曜日です。", "会議は水曜日です。"),
        ("C++ is fast.", "C is fast."),
        ("Version 1.5 it is.", "Version 15 it is."),
        ("Это мои дети.", "Это мой дети."),
        ("वह किताब लाया।", "वह काताब लाया।"),
        ("これははしです。", "これはばしです。"),
        ("It is so that x ≠ y.", "It is so that x = y."),
        ("The dice show 1 2 3.", "The dice show 123."),
    ],
)
def test_signs_that_change_what_is_said_keep_texts_apart(gone, stays, store_text, forget):
    forget(gone)
    assert store_text(gone).status_code == 409
    assert store_text(stays).status_code == 201


def test_an_erasure_from_before_bars_the_text_as_it_was_written(alice, project, store_text, forget, principal):
    """It holds a fingerprint of the text that is not folded."""
    forget(TEXT)
    with access.enter(principal, why="test"):
        Erasure.objects.update(fingerprint=RawSQL("nova_fingerprint(project_id, %s)", [TEXT]))
    assert store_text(TEXT).status_code == 409
    assert store_text(TEXT.upper()).status_code == 409
    assert store_text(GUISES["without its full stop"]).status_code == 201


@pytest.mark.parametrize("guise", ["with letters that have marks", "in Arabic digits", "with spaces between letters"])
def test_an_erasure_from_before_bars_a_text_in_guises_that_are_known_since(guise, store_text, forget, principal):
    """It holds the fingerprint of the text alone, as `nova_folded` folds it."""
    forget(TEXT)
    with access.enter(principal, why="test"):
        Erasure.objects.update(fingerprint=RawSQL("nova_erasure_print(project_id, %s)", [TEXT]))
    assert store_text(GUISES[guise]).status_code == 409


def test_a_former_text_in_a_guise_is_barred_as_it_is(alice, store_text):
    made = store_text(GUISES["with letters that have marks"]).json()
    change = {"content": "Nothing to see here.", "revision": 1}
    assert alice.client.patch(f"/api/v1/fragments/{made['id']}", change, format="json").status_code == 200
    assert alice.client.delete(f"/api/v1/fragments/{made['id']}").status_code == 204
    assert store_text(TEXT).status_code == 409


def test_lifting_lifts_what_was_forgotten_in_a_guise(alice, store_text, forget):
    text = GUISES["with letters that have marks"]
    forget(text)
    assert alice.client.post("/api/v1/erasures/lift", {"content": text}, format="json").json() == {"lifted": 2}
    assert [store_text(each).status_code for each in (text, TEXT)] == [201, 201]


def test_lifting_in_a_guise_lifts_the_text(alice, store_text, forget):
    forget(TEXT)
    body = {"content": GUISES["with spaces between letters"]}
    assert alice.client.post("/api/v1/erasures/lift", body, format="json").json() == {"lifted": 1}
    assert store_text(TEXT).status_code == 201


def test_lifting_lifts_every_guise(alice, store_text, forget):
    forget(TEXT)
    answer = alice.client.post("/api/v1/erasures/lift", {"content": GUISES["in capitals"]}, format="json")
    assert answer.json() == {"lifted": 1}
    assert store_text(TEXT).status_code == 201
