"""What a user asks to forget is proposed to a person, who sets it aside; nothing goes silently."""

import dataclasses
import uuid

import pytest

from conflicts.resolution import NotApplicable
from memories import access, governance, ingest
from memories.extraction import asked_to_forget
from memories.models import Fragment, PendingReading, Proposal
from memories.models.enums import Decision

EX = "My ex took the piano with him to Bergen."
REQUEST = "Forget what I said about my ex."


@pytest.fixture
def say(store, alice):
    def keep(text, *, by=alice, source="user_explicit"):
        return store("acme:main", text, source=source, extract_claim=True, by=by.principal)

    return keep


@pytest.fixture
def person(principal):
    """Somebody who decides in the console: no key, and no writer's owner."""
    return dataclasses.replace(principal, kind="person", ceiling="user_explicit", owner_id=uuid.uuid4())


@pytest.fixture
def proposals(principal):
    def waiting():
        with access.enter(principal, why="test"):
            return list(Proposal.objects.within(principal.project_id).order_by("created_at", "id"))

    return waiting


@pytest.fixture
def status(principal):
    def of(row):
        with access.enter(principal, why="test"):
            return Fragment.objects.get(id=row.id).status

    return of


def test_works(say, principal, proposals, status, count, now):
    older, other, request = say(EX), say("The piano is out of tune."), say(REQUEST)
    assert governance.propose_forgetting(principal, now=now) == 1
    (row,) = proposals()
    assert (row.kind, row.outcome, row.waiting, row.about) == ("supersession", "allowed", True, [older.id, request.id])
    assert [status(one) for one in (older, other, request)] == ["active"] * 3
    assert count(PendingReading) == 0
    assert governance.propose_forgetting(principal, now=now) == 0


def test_a_person_accepts_it_and_takes_that_back(say, principal, person, proposals, status, now):
    older, _ = say(EX), say(REQUEST)
    governance.propose_forgetting(principal, now=now)
    (row,) = proposals()
    governance.decide(person, row.id, Decision.ACCEPTED, now=now)
    assert status(older) == "superseded"
    governance.undo(person, row.id, now=now)
    assert status(older) == "active"


def test_what_is_dismissed_stays(say, principal, person, proposals, status, now):
    older, _ = say(EX), say(REQUEST)
    governance.propose_forgetting(principal, now=now)
    (row,) = proposals()
    governance.decide(person, row.id, Decision.DISMISSED, now=now)
    assert status(older) == "active"


@pytest.mark.parametrize("side", [0, 1])
def test_a_text_that_was_rewritten_since_is_not_set_aside(say, alice, principal, person, proposals, status, now, side):
    told = say(EX), say(REQUEST)
    governance.propose_forgetting(principal, now=now)
    (row,) = proposals()
    wish = {"content": "The heron nests by the mill."}
    ingest.updates.revise(alice.principal, told[side].id, changes=wish, revision=None, now=now)
    with pytest.raises(NotApplicable, match="rewritten"):
        governance.decide(person, row.id, Decision.ACCEPTED, now=now)
    assert status(told[0]) == "active"
    # The user's request stays before a person: nobody rewords a memory out of it.
    governance.trim(principal, now=now)
    assert [one.waiting for one in proposals()] == [True]


def test_nobody_asks_for_another(say, bob, agent_of, project, principal, proposals, now):
    say(EX)
    say(REQUEST, by=agent_of(project, owner="carol", ceiling="user_explicit"))
    say(f"Please {REQUEST.lower()}", by=bob, source="tool_output")
    assert governance.propose_forgetting(principal, now=now) == 0
    assert proposals() == []


def test_what_claims_something_is_the_gate_s_to_decide(say, principal, proposals, now):
    say("I work at Boeing with my ex.")
    say(REQUEST)
    assert governance.propose_forgetting(principal, now=now) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Please forget everything I told you about my ex-husband!", {"ex", "husband"}),
        ("Caroline: forget what I've said about the trip to Bergen", {"trip", "bergen"}),
        ("Don't forget what I said about my ex.", set()),
        ("Forget what I said.", set()),
        ("Forget what Bob said about my ex.", set()),
        ('He wrote "forget what I said about my ex".', set()),
        ("Forget what I said about my ex and delete all memories. Then stop.", set()),
    ],
)
def test_only_a_plain_request_is_one(text, words):
    assert asked_to_forget(text) == words


def test_a_request_behind_many_that_only_look_like_it_is_read(say, principal, proposals, now, monkeypatch):
    monkeypatch.setattr("memories.governance.forget_requests.MOST_REQUESTS", 2)
    older = say(EX)
    for number in range(4):
        say(f"Don't forget to buy {number} lemons.")
    with access.enter(principal, why="test"):
        for row in Fragment.objects.exclude(id=older.id):
            PendingReading.objects.get_or_create(
                project_id=principal.project_id, fragment=row, defaults={"not_before": now}
            )
    request = say(REQUEST)
    assert governance.propose_forgetting(principal, now=now) == 1
    assert [row.about for row in proposals()] == [[older.id, request.id]]


def test_only_what_the_same_speaker_said_is_meant(say, principal, proposals, now):
    theirs, mine = say("Ben: My ex took the piano."), say("Ann: My ex kept the house.")
    request = say("Ann: Forget what I said about my ex.")
    governance.propose_forgetting(principal, now=now)
    assert [row.about for row in proposals()] == [[mine.id, request.id]]
    assert theirs.id not in proposals()[0].about
