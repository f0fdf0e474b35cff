"""Chats that passed through the proxy become memories: whose, how far believed, and what is left out."""

import datetime
import time
import uuid

import pytest

from memories import access, erasure, ingest, retrieval, tasks
from memories.access import NotFound, NotPermitted, keys
from memories.ingest import captures
from memories.ingest.captures import CapturedTurn
from memories.models import Exchange, Fragment, Receipt

USER = CapturedTurn("user", "My budget for the kitchen is $750.", "turn-1", 0, attested=True)
ANSWER = CapturedTurn("assistant", "A kitchen for that money needs second-hand cupboards.", "turn-2", 1)


@pytest.fixture
def capture_turns(now):
    """Captures turns in acme:main."""

    def capture(principal, *turns, receipt_id=None, namespace="acme:main"):
        return ingest.captures.capture(
            principal, turns, namespace=namespace, conversation_id="chat", receipt_id=receipt_id, now=now
        )

    return capture


@pytest.fixture
def kept(principal, now):
    """Lets a worker work, and answers what there is then."""

    def work(at=now):
        ingest.captures.ingest_exchanges(principal, now=at)
        with access.enter(principal, why="test"):
            return list(Fragment.objects.order_by("sequence", "created_at").select_related("claim"))

    return work


@pytest.fixture
def handed_out(principal, store, now):
    """A receipt for a memory of this text; stored by an inference unless said otherwise."""

    def write(text, **more):
        row = store("acme:main", text, **more)
        with access.enter(principal, why="test"):
            return Receipt.objects.create(
                project_id=principal.project_id, namespace=row.namespace, fragment_ids=[row.id], tokens=9
            ).id

    return write


def test_turns_become_memories_of_the_key_that_heard_them(bob, capture_turns, kept, count):
    row = capture_turns(bob.principal, USER, ANSWER)
    assert (count(Exchange), count(Fragment)) == (1, 0)
    user, answer = kept()
    assert (user.content, user.source, user.authority) == (USER.content, "user_implicit", 3)
    assert (answer.content, answer.source, answer.authority) == (ANSWER.content, "inference", 1)
    assert {(f.conversation_id, f.source_type, f.type) for f in (user, answer)} == {
        ("chat", "conversation", "episodic")
    }
    assert [(f.source_id, f.sequence) for f in (user, answer)] == [("turn-1", 0), ("turn-2", 1)]
    assert {(f.owner_id, f.grant_id, f.event_at) for f in (user, answer)} == {
        (bob.principal.owner_id, bob.principal.grant_id, row.said_at)
    }
    assert count(Exchange) == 0


def test_a_grant_that_attests_makes_the_users_words_explicit(project, agent_of, capture_turns, kept):
    capture_turns(agent_of(project, may_attest_user=True).principal, USER)
    (row,) = kept()
    assert (row.source, row.authority, row.claim.value) == ("user_explicit", 6, "$750")


def test_what_was_not_seen_verbatim_is_not_attested(project, agent_of, capture_turns, kept):
    capture_turns(agent_of(project, may_attest_user=True).principal, CapturedTurn("user", USER.content, "turn-1", 0))
    assert [row.source for row in kept()] == ["user_implicit"]


def test_tools_and_ends_that_are_missing(bob, capture_turns, kept):
    capture_turns(
        bob.principal,
        CapturedTurn("tool", "The scale shows 12 kilograms.", "t", 0),
        CapturedTurn("assistant", "The parcel is too heavy for", "a", 1, partial=True),
    )
    tool, answer = kept()
    assert (tool.source, tool.extra) == ("tool_output", {})
    assert (answer.source, answer.extra) == ("inference", {"partial": True})


@pytest.mark.parametrize(
    "text",
    [
        "Error: no such model",
        "I'm sorry, I don't know that.",
        "I apologize for that.",
        "I cannot do that.",
        "Yes it is."[:9],
    ],
)
def test_excuses_and_shreds_are_left_out(text, bob, capture_turns, kept, count):
    capture_turns(bob.principal, CapturedTurn("assistant", text, "a", 0))
    assert kept() == []
    assert count(Exchange) == 0


def test_nothing_is_written_down_of_silence_or_of_floods(bob, capture_turns, count):
    assert (
        capture_turns(
            bob.principal, CapturedTurn("user", " \x00\n", "a", 0), CapturedTurn("assistant", "x" * 100_001, "b", 1)
        )
        is None
    )
    assert count(Exchange) == 0


def test_what_postgres_can_not_store_is_cleaned(bob, capture_turns, kept):
    capture_turns(bob.principal, CapturedTurn("user", "A heron\x00 with a lone \ud83d surrogate.", "a", 0))
    assert [row.content for row in kept()] == ["A heron with a lone \ufffd surrogate."]


def test_the_same_turn_twice_is_one_memory(bob, capture_turns, kept, count):
    capture_turns(bob.principal, USER)
    capture_turns(bob.principal, USER, ANSWER)
    assert len(kept()) == 2


def test_an_answer_that_restates_a_memory_is_no_memory(bob, capture_turns, kept, handed_out, count):
    receipt = handed_out("The heron nests behind the old mill.")
    capture_turns(
        bob.principal,
        CapturedTurn("assistant", "The heron is nesting behind the old mill.", "a", 0),
        receipt_id=receipt,
    )
    assert len(kept()) == 1
    capture_turns(bob.principal, CapturedTurn("assistant", "The heron is nesting behind the old mill.", "a", 0))
    assert len(kept()) == 2, "the guard goes by the receipt"


def test_only_what_is_new_in_an_answer_is_kept(bob, capture_turns, kept, handed_out):
    receipt = handed_out("The heron nests behind the old mill.")
    text = "The heron nests behind the old mill. It laid three blue eggs on Monday."
    capture_turns(bob.principal, CapturedTurn("assistant", text, "a", 0), receipt_id=receipt)
    found = {row.content for row in kept()}
    assert found == {"It laid three blue eggs on Monday.", "The heron nests behind the old mill."}


def test_a_tools_statement_when_only_somebody_weaker_had_said_it_is_kept(
    project, agent_of, capture_turns, kept, handed_out
):
    receipt = handed_out("Kitchen temperature readings range over 19, 20, 21, 22, 23, 24 degrees.")
    turn = CapturedTurn("tool", "The kitchen temperature is 22 degrees.", "t", 0)
    capture_turns(agent_of(project, ceiling="tool_output").principal, turn, receipt_id=receipt)
    assert "tool_output" in {row.source for row in kept()}


def test_a_users_update_when_a_memory_has_its_words_in_another_order_is_kept(
    project, agent_of, capture_turns, kept, handed_out
):
    receipt = handed_out("I prefer tea to coffee.", source="tool_output")
    turn = CapturedTurn("user", "I prefer coffee to tea.", "u", 0)
    capture_turns(agent_of(project, ceiling="tool_output").principal, turn, receipt_id=receipt)
    assert {"I prefer tea to coffee.", "I prefer coffee to tea."} == {row.content for row in kept()}


def test_a_user_confirms_what_somebody_weaker_had_said(bob, capture_turns, kept, handed_out):
    receipt = handed_out("The heron nests behind the old mill.")
    capture_turns(
        bob.principal, CapturedTurn("user", "The heron nests behind the old mill.", "u", 0), receipt_id=receipt
    )
    assert sorted(row.source for row in kept()) == ["inference", "user_implicit"]


def test_a_user_who_reads_a_stronger_memory_out_adds_nothing(bob, capture_turns, kept, handed_out):
    receipt = handed_out("The heron nests behind the old mill.", source="tool_output")
    capture_turns(
        bob.principal, CapturedTurn("user", "The heron nests behind the old mill.", "u", 0), receipt_id=receipt
    )
    assert [row.source for row in kept()] == ["tool_output"]


def test_forgotten_words_do_not_come_back(alice, bob, capture_turns, kept, store, principal, now):
    row = store("acme:main", USER.content, by=alice.principal, source="user_explicit")
    erasure.forget(alice.principal, row.id, now=now)
    capture_turns(bob.principal, USER)
    assert kept() == []


def test_uncovered_and_unpermitted(capture_turns, reader, bob, principal, count):
    for who, namespace, error in (
        (bob.principal, "elsewhere:main", NotFound),
        (reader.principal, "acme:main", NotPermitted),
        (principal, "acme:main", NotPermitted),
    ):
        with pytest.raises(error):
            capture_turns(who, USER, namespace=namespace)
    assert count(Exchange) == 0


def test_a_revoked_keys_last_words_are_kept(bob, capture_turns, kept, project, now):
    capture_turns(bob.principal, USER)
    keys.revoke(project, str(bob.row.id), now=now)
    assert len(kept()) == 1


def test_what_fails_is_tried_again_and_does_not_hold_up_others(
    bob, capture_turns, kept, principal, now, monkeypatch, count
):
    poison = capture_turns(bob.principal, CapturedTurn("user", "A text that is poison.", "p", 0))
    capture_turns(bob.principal, USER)
    prepare = captures.prepare_messages

    def picky(speaker, messages, **more):
        if any("poison" in message.content for message in messages):
            raise ValueError("no")
        return prepare(speaker, messages, **more)

    with monkeypatch.context() as patch:
        patch.setattr(captures, "prepare_messages", picky)
        assert [row.content for row in kept()] == [USER.content]
        with access.enter(principal, why="test"):
            left = Exchange.objects.get(id=poison.id)
        assert (left.attempts, left.not_before) == (1, now + datetime.timedelta(seconds=20))
        with access.enter(principal, why="test"):
            Exchange.objects.update(attempts=captures.ATTEMPTS - 1)
        kept(at=now + datetime.timedelta(hours=1))
    assert (count(Exchange), count(Fragment)) == (0, 1)


def test_what_another_worker_holds_is_left(bob, capture_turns, kept, principal, now):
    capture_turns(bob.principal, USER)
    with access.enter(principal, why="test"):
        Exchange.objects.update(not_before=now + captures.CLAIM)
    assert kept() == []
    assert len(kept(at=now + captures.CLAIM)) == 1


def test_the_task_works_in_one_project_or_in_all(bob, charlie, capture_turns, count, principal):
    capture_turns(bob.principal, USER)
    tasks.ingest_exchanges(str(charlie.principal.project_id))
    assert count(Exchange) == 1
    tasks.ingest_exchanges(str(bob.principal.project_id))
    assert (count(Exchange), count(Fragment)) == (0, 1)
    capture_turns(charlie.principal, USER, namespace="elsewhere:main")
    tasks.ingest_exchanges(str(uuid.uuid4()))
    tasks.ingest_exchanges()
    with access.enter(charlie.principal, why="test"):
        assert Fragment.objects.within(charlie.principal.project_id).count() == 1


FENCED = "<memory-context 0123456789abcdef>\n## Relevant Memory Context\n- x\n</memory-context 0123456789abcdef>"
XML = '<nova-memories digest="0123456789abcdef">\n<memory>x</memory>\n</nova-memories>'


@pytest.mark.parametrize("block", [FENCED, XML, FENCED + "\n\n" + XML])
def test_blocks_are_taken_out_of_texts(block):
    assert retrieval.context.without_blocks(f"Where is it?\n\n{block}") == "Where is it?"
    assert retrieval.context.without_blocks(f"{block}\nWhere\n{block}\nis it?") == "Where\nis it?"
    assert retrieval.context.without_blocks(f"Where?\n{block[:-3]}") == "Where?"


def test_stripping_takes_no_longer_than_reading():
    begun = time.process_time()
    for text in (" " * 5_000_000, FENCED[:35] * 100_000, "<memory-context " * 300_000, "\n<" * 1_000_000):
        assert retrieval.context.without_blocks(text) in (text, "")
    assert time.process_time() - begun < 10  # a quadratic pass takes minutes


@pytest.mark.parametrize("text", ["", "  Where <memory-context> is it?\n", "</memory-context 0123456789abcdef>"])
def test_a_text_without_a_block_is_the_same_text(text):
    assert retrieval.context.without_blocks(text) == text
