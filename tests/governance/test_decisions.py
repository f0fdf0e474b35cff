"""Deciding on supersessions: once, as they were seen, and taken back exactly."""

import dataclasses
import uuid

import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from conflicts.resolution import CannotUndo, NotApplicable
from conflicts.votes import vote
from memories import access, erasure, governance, ingest
from memories.errors import StaleRevision
from memories.models import Fragment, Proposal

TEXTS = ("The gate is open.", "The gate is shut.", "The gate is locked.", "The gate is gone.")


@pytest.fixture
def texts(store):
    """Four texts about a gate, oldest first."""
    return [store("acme:main", text) for text in TEXTS]


@pytest.fixture
def pair(texts, contradict):
    """The proposal that the second text replaces the first."""
    return contradict(texts[0], texts[1])


def same(principal, row):
    with access.enter(principal, why="test"):
        return Proposal.objects.within(principal.project_id).get(id=row.id)


def statuses(principal, rows):
    with access.enter(principal, why="test"):
        found = Fragment.objects.within(principal.project_id).in_bulk([row.id for row in rows])
    return [found[row.id].status for row in rows]


@pytest.mark.parametrize("decision", ["accepted", "dismissed"])
def test_what_was_decided_is_taken_back_and_waits_again(principal, texts, pair, picture, now, decision):
    before = picture(dated=False)
    decided = governance.decide(principal, pair.id, decision, now=now)
    assert (decided.before is not None) is (decision == "accepted")
    row = governance.undo(principal, pair.id, now=now)
    assert (row.waiting, row.decision, row.decided_by, row.decided_at, row.before) == (True, "", None, None, None)
    assert picture(dated=False) == before
    governance.decide(principal, pair.id, "accepted", now=now)
    assert statuses(principal, texts) == ["superseded", "active", "active", "active"]


def test_a_dispute_that_the_acceptance_ended_waits_again(principal, alice, bob, store, contradict, picture, now):
    older, newer = (store("acme:main", text, by=alice.principal, source="user_explicit") for text in TEXTS[:2])
    dispute = vote(bob.principal, older.id, "dispute", reason="", now=now).conflict
    row, before = contradict(older, newer), picture(dated=False)
    strong = dataclasses.replace(principal, ceiling="user_explicit")

    def settled():
        with access.enter(principal, why="test"):
            return PendingConflict.objects.get(id=dispute.id).resolution

    governance.decide(strong, row.id, "accepted", now=now)
    assert settled() == "obsolete"
    governance.undo(strong, row.id, now=now)
    assert (settled(), picture(dated=False)) == ("", before)


def test_nothing_is_taken_back_twice(principal, pair, texts, picture, now):
    before = picture(dated=False)
    with pytest.raises(CannotUndo):
        governance.undo(principal, pair.id, now=now)
    governance.decide(principal, pair.id, "accepted", now=now)
    governance.undo(principal, pair.id, now=now)
    with pytest.raises(CannotUndo):
        governance.undo(principal, pair.id, now=now)
    assert (same(principal, pair).waiting, picture(dated=False)) == (True, before)


def _archived(principal, texts, contradict, now):
    ingest.updates.archive(principal, texts[1].id, now=now)


def _replaced(principal, texts, contradict, now):
    governance.decide(principal, contradict(texts[1], texts[2]).id, "accepted", now=now)


def _superseded_otherwise(principal, texts, contradict, now):
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(id=texts[0].id).update(superseded_by=texts[2].id)


def _left(principal, texts, contradict, now):
    with access.enter(principal, why="test"):
        Fragment.objects.within(principal.project_id).filter(id=texts[0].id).delete()


@pytest.mark.parametrize("change", [_archived, _replaced, _superseded_otherwise, _left])
def test_what_changed_since_stands_in_the_way(principal, texts, pair, contradict, picture, now, change):
    governance.decide(principal, pair.id, "accepted", now=now)
    change(principal, texts, contradict, now)
    before = picture()
    with pytest.raises(CannotUndo):
        governance.undo(principal, pair.id, now=now)
    assert (picture(), same(principal, pair).decision) == (before, "accepted")


def test_a_dismissal_changed_no_memory_and_is_taken_back_whatever_became_of_them(principal, texts, pair, picture, now):
    governance.decide(principal, pair.id, "dismissed", now=now)
    ingest.updates.archive(principal, texts[0].id, now=now)
    before = picture()
    governance.undo(principal, pair.id, now=now)
    assert (same(principal, pair).waiting, picture()) == (True, before)
    with pytest.raises(NotApplicable):
        governance.decide(principal, pair.id, "accepted", now=now)


def test_what_was_forgotten_takes_its_decision_along(principal, texts, pair, now):
    governance.decide(principal, pair.id, "accepted", now=now)
    erasure.forget(principal, texts[0].id, now=now)
    with pytest.raises(access.NotFound):
        governance.undo(principal, pair.id, now=now)
    assert statuses(principal, texts[1:]) == ["active"] * 3


def test_other_words_of_the_newer_memory_stay_when_the_decision_goes(principal, texts, pair, now):
    governance.decide(principal, pair.id, "accepted", now=now)
    ingest.updates.revise(principal, texts[1].id, changes={"content": "The gate was shut."}, revision=None, now=now)
    governance.undo(principal, pair.id, now=now)
    assert statuses(principal, texts) == ["active"] * 4


def test_a_decision_is_about_the_words_that_were_seen(principal, texts, pair, picture, now):
    ingest.updates.revise(principal, texts[1].id, changes={"content": "The gate squeaks."}, revision=None, now=now)
    before = picture()
    for decision in ("accepted", "dismissed"):
        with pytest.raises(StaleRevision):
            governance.decide(principal, pair.id, decision, seen=(1, 1), now=now)
    assert (picture(), same(principal, pair).waiting) == (before, True)
    with pytest.raises(NotApplicable, match="rewritten"):  # nobody judged these words
        governance.decide(principal, pair.id, "accepted", seen=(1, 2), now=now)
    assert (picture(), same(principal, pair).waiting) == (before, True)
    assert governance.decide(principal, pair.id, "dismissed", seen=(1, 2), now=now).decision == "dismissed"


def test_who_may_not_decide_may_not_take_back(principal, texts, pair, picture, now):
    governance.decide(principal, pair.id, "accepted", now=now)
    before = picture()
    weaker = (
        {"verbs": frozenset({"read"})},
        {"kind": "key", "owner_id": texts[1].owner_id},
        {"namespaces": ("acme:side",)},
    )
    for wish in weaker:
        with pytest.raises((access.NotPermitted, access.NotFound)):
            governance.undo(dataclasses.replace(principal, **wish), pair.id, now=now)
    assert (picture(), same(principal, pair).decision) == (before, "accepted")


def test_the_authority_of_what_comes_back_is_within_the_ceiling(principal, alice, store, contradict, now):
    older, newer = (store("acme:main", text, by=alice.principal, source="user_explicit") for text in TEXTS[:2])
    row = contradict(older, newer)
    governance.decide(dataclasses.replace(principal, ceiling="user_explicit"), row.id, "accepted", now=now)
    with pytest.raises(access.NotPermitted):
        governance.undo(dataclasses.replace(principal, ceiling="tool_output"), row.id, now=now)
    assert same(principal, row).decision == "accepted"


@pytest.mark.parametrize("decision", ["accepted", "dismissed"])
def test_only_who_is_as_strong_as_the_decider_takes_back(principal, pair, decision, now):
    strong = dataclasses.replace(principal, ceiling="user_explicit")
    governance.decide(strong, pair.id, decision, now=now)
    weaker = dataclasses.replace(principal, ceiling="tool_output", owner_id=uuid.uuid4())
    with pytest.raises(access.NotPermitted):
        governance.undo(weaker, pair.id, now=now)
    assert same(principal, pair).decision == decision
    governance.undo(dataclasses.replace(weaker, owner_id=strong.owner_id), pair.id, now=now)  # one's own
    assert same(principal, pair).waiting


def test_what_undo_needs_is_kept_of_the_accepted_alone(principal, pair):
    with access.enter(principal, why="test"), pytest.raises(IntegrityError), transaction.atomic():
        Proposal.objects.within(principal.project_id).filter(id=pair.id).update(before={})
    with access.enter(principal, why="test"), connection.cursor() as cursor:
        cursor.execute("SELECT before FROM memories_proposal WHERE id = %s", [pair.id])
        assert cursor.fetchone() == (None,)


# Each wish: the places of the older and the newer of four texts, and what a person makes of it.
WISHES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["accepted", "dismissed"])).filter(
        lambda wish: wish[0] < wish[1]
    ),
    min_size=1,
    max_size=6,
)
TRAITS = st.tuples(*[st.fixed_dictionaries({"importance": st.floats(0, 1), "claimed": st.booleans()}) for _ in TEXTS])


@pytest.mark.long
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(wishes=WISHES, traits=TRAITS)
@example(wishes=[(0, 1, "accepted"), (1, 2, "accepted"), (2, 3, "accepted")], traits=({},) * 4)
@example(wishes=[(0, 1, "accepted"), (0, 2, "accepted"), (1, 3, "dismissed")], traits=({},) * 4)
def test_whatever_was_decided_taken_back_in_turn_leaves_everything_as_it_was(
    principal, store, contradict, picture, now, wishes, traits
):
    with transaction.atomic():
        rows = [_made(store, n, **dict(trait)) for n, trait in enumerate(traits)]
        waiting = [(contradict(rows[older], rows[newer]), decision) for older, newer, decision in wishes]
        before, done = picture(dated=False), []
        for row, decision in waiting:
            done += _decided(principal, row, decision, now=now)
        for row in reversed(done):
            governance.undo(principal, row.id, now=now)
        assert picture(dated=False) == before
        assert all(same(principal, row).waiting for row, _ in waiting)
        transaction.set_rollback(True)


def _made(store, n, *, importance=0.5, claimed=False):
    more = {"claim": ClaimDraft("gate", "state", TEXTS[0])} if claimed and n == 3 else {}
    return store("acme:main", TEXTS[n], importance=importance, **more)


def _decided(principal, row, decision, *, now):
    try:
        return [governance.decide(principal, row.id, decision, now=now)]
    except NotApplicable:
        return []
