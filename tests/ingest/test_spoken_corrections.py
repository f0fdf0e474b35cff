"""What somebody corrects in talk replaces what they said before, of themselves only, and nothing stronger."""

import datetime

import pytest

from memories import access
from memories.ingest.files import Message
from memories.ingest.messages import ingest
from memories.models import Claim


@pytest.fixture
def said(alice, now):
    """Lets the user say something, turn by turn or in one conversation; returns what was admitted."""

    def say(*turns, by=alice, role="user", conversation="talk"):
        messages = [Message(role, text, None, None, conversation, None, "message", None) for text in turns]
        return ingest(by.principal, messages, namespace="acme:main", now=now).stored

    return say


@pytest.fixture
def believed(principal):
    """The values that stand under a predicate of the user."""

    def values(predicate):
        with access.enter(principal, why="test"):
            rows = Claim.objects.filter(subject="user", predicate=predicate, status="active", fragment__status="active")
            return sorted(rows.values_list("value", flat=True))

    return values


CORRECTIONS = [
    ("budget", "My budget is $500.", "Make my budget $650.", ["$650"]),
    ("budget", "My budget is $500.", "Actually make it $650.", ["$650"]),
    ("budget", "My budget is $500.", "Sorry, I meant $650.", ["$650"]),
    ("budget", "My budget is $500.", "Wait, let's make that $650 instead.", ["$650"]),
    ("deadline", "My deadline is May 8.", "Actually, make it May 12.", ["May 12"]),
    ("diet", "I'm vegetarian.", "I eat meat again.", []),
    ("diet", "I'm vegan.", "I eat cheese now.", []),
    ("diet", "I'm vegetarian.", "I'm not vegetarian anymore.", []),
    ("works_at", "I work at Boeing.", "I no longer work at Boeing.", []),
    ("works_at", "I work at Boeing.", "I quit my job at Boeing last week.", []),
    ("works_at", "I work at Boeing.", "I left Boeing.", []),
    ("lives_in", "I live in Oslo.", "I moved away from Oslo.", []),
    ("eats", "I eat oysters.", "I've stopped eating oysters.", []),
    ("drinks", "I drink coffee.", "I gave up drinking coffee.", []),
    ("drinks", "I drink coffee.", "I never drink coffee.", []),
    ("eats", "I eat meat.", "I don't eat meat.", []),
    ("likes", "I like coffee.", "I don't like coffee.", []),
    ("avoids", "I don't eat meat.", "I eat meat again.", []),
    ("dislikes", "I don't like coffee.", "I like coffee now.", []),
    ("plays", "I play the clarinet.", "I quit playing the clarinet.", []),
    ("owns", "I own a red Volvo.", "I sold my red Volvo.", []),
    ("spouse", "I'm married to Ingrid.", "I got divorced from Ingrid.", []),
]


@pytest.mark.parametrize(("predicate", "first", "then", "stands"), CORRECTIONS)
def test_a_correction_leaves_what_was_corrected_to(said, believed, predicate, first, then, stands):
    said(first)
    assert believed(predicate)
    said(then)
    assert believed(predicate) == stands


@pytest.mark.parametrize(("predicate", "first", "then", "stands"), CORRECTIONS)
def test_within_one_request_it_does_too(said, believed, predicate, first, then, stands):
    said(first, then)
    assert believed(predicate) == stands


NO_CORRECTIONS = [
    ("budget", "My budget is $500.", "Should I make it $650?", ["$500"]),
    ("budget", "My budget is $500.", "Maybe make it $650.", ["$500"]),
    ("budget", "My budget is $500.", "If you make it $650, I'd pay.", ["$500"]),
    ("budget", "My budget is $500.", 'The vendor said "actually make it $650".', ["$500"]),
    ("budget", "My budget is $500.", "Actually make it blue.", ["$500"]),
    ("diet", "I'm vegetarian.", "My brother eats meat again.", ["vegetarian"]),
    ("diet", "I'm vegetarian.", "I'd like to eat meat again.", ["vegetarian"]),
    ("works_at", "I work at Boeing.", "I might leave Boeing.", ["Boeing"]),
    ("works_at", "I work at Boeing.", "I quit my job at Fjordline in 2019.", ["Boeing"]),
    ("works_at", "I work at Boeing.", "I left Boeing early yesterday.", ["Boeing"]),
    ("lives_in", "I live in Oslo.", "My sister moved away from Oslo.", ["Oslo"]),
]


@pytest.mark.parametrize(("predicate", "first", "then", "stands"), NO_CORRECTIONS)
def test_what_is_no_correction_changes_nothing(said, believed, predicate, first, then, stands):
    said(first)
    said(then)
    assert believed(predicate) == stands


def test_what_it_means_is_what_the_speaker_said_right_before(said, believed):
    said("My rent is $900.", "My budget is $500.", "Actually make it $650.")
    assert (believed("budget"), believed("rent")) == (["$650"], ["$900"])


def test_in_another_conversation_it_means_nothing(said, believed):
    said("My budget is $500.")
    said("Actually make it $650.", conversation="another")
    assert believed("budget") == ["$500"]


def test_another_writer_corrects_nothing(said, believed, bob):
    said("My budget is $500. I work at Boeing.")
    said("Actually make it $650. I no longer work at Boeing.", by=bob, role="assistant")
    assert (believed("budget"), believed("works_at")) == (["$500"], ["Boeing"])


def test_what_was_corrected_stands_again_when_the_correction_is_forgotten(said, believed, alice):
    said("I work at Boeing.")
    (later,) = said("I no longer work at Boeing.")
    assert believed("works_at") == []
    assert alice.client.delete(f"/api/v1/fragments/{later.fragment.id}").status_code == 204
    assert believed("works_at") == ["Boeing"]


def test_what_is_said_twice_in_one_request_with_more_beside_it_is_kept_twice(said, alice):
    same = "I went hiking last week."
    first, second = said(f"{same} Otters slept.", f"{same} The heron fished below the old mill.")
    assert first.fragment.id != second.fragment.id


@pytest.mark.parametrize("pasted", ["> Actually make it $650.", "```\nActually make it $650.\n```"])
def test_what_is_pasted_amends_nothing(said, believed, pasted):
    said("My budget is $500.")
    said(f"Here is the mail I got from them, what do you think?\n{pasted}")
    said(pasted)
    assert believed("budget") == ["$500"]


@pytest.mark.parametrize(("days", "stands"), [(0.9, ["$650"]), (1.1, ["$500"])])
def test_what_was_said_long_ago_is_not_amended_by_a_word(alice, now, believed, days, stands):
    later = now + datetime.timedelta(days=days)
    for at, text in ((now, "My budget is $500."), (later, "Actually make it $650.")):
        message = Message("user", text, at, None, "talk", None, "message", None)
        ingest(alice.principal, [message], namespace="acme:main", now=later)
    assert believed("budget") == stands


def test_within_one_request_the_times_count_too(alice, now, believed):
    later = now + datetime.timedelta(days=2)
    turns = [(now, "My budget is $500."), (later, "Actually make it $650.")]
    messages = [Message("user", text, at, None, "talk", None, "message", None) for at, text in turns]
    ingest(alice.principal, messages, namespace="acme:main", now=later)
    assert believed("budget") == ["$500"]
