"""The gate as a pure function: its rules, one by one, and laws for every set of opponents (docs/spec.md §4)."""

import datetime
import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflicts.enums import ConflictReason, Policy
from conflicts.gate import Assertion, GateOutcome, Period, clipped_period, decide

ALICE, BOB = uuid.UUID(int=1), uuid.UUID(int=2)
YEAR = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in range(2018, 2027)]
SEATTLE, AUSTIN, OSLO = b"seattle", b"austin", b"oslo"


def assertion(value=SEATTLE, *, authority=3, owner=ALICE, **more):
    return Assertion(fragment_id=uuid.uuid4(), owner_id=owner, authority=authority, value=value, **more)


def test_alone_it_is_admitted():
    assert decide(assertion(), []).outcome == GateOutcome.ADMITTED


def test_more_authority_wins():
    standing = assertion(authority=2, owner=BOB)
    decision = decide(assertion(AUSTIN), [standing])
    assert (decision.outcome, decision.yielding) == (GateOutcome.WON, (standing,))


def test_less_authority_loses_and_replaces_nothing():
    standing = assertion(authority=6)
    decision = decide(assertion(AUSTIN), [standing])
    assert decision.outcome == GateOutcome.LOST
    assert decision.opponents == ((standing, ConflictReason.AUTHORITY),)
    assert decision.yielding == decision.closing == ()


def test_at_equal_authority_the_same_owner_changes_its_mind_and_another_waits():
    own, foreign = assertion(), assertion(owner=BOB)
    assert decide(assertion(AUSTIN), [own]).outcome == GateOutcome.WON
    assert decide(assertion(AUSTIN), [foreign]).opponents == ((foreign, ConflictReason.OTHER_OWNER),)


def test_a_predicate_may_say_that_the_newer_wins_at_equal_authority_only():
    assert decide(assertion(AUSTIN), [assertion(owner=BOB)], policy="newest").outcome == GateOutcome.WON
    assert decide(assertion(AUSTIN), [assertion(owner=BOB, authority=4)], policy="newest").outcome == GateOutcome.LOST


def test_all_or_nothing():
    weak, strong = assertion(OSLO, authority=1), assertion(authority=6)
    decision = decide(assertion(AUSTIN, authority=4), [weak, strong])
    assert decision.outcome == GateOutcome.LOST
    assert decision.yielding == ()
    assert decision.opponents == ((weak, ConflictReason.AUTHORITY), (strong, ConflictReason.AUTHORITY))


def test_the_same_value_is_one_memory_unless_it_is_said_by_somebody_stronger():
    standing = assertion(authority=3)
    assert decide(assertion(authority=3, owner=BOB), [standing]).twin == standing
    restated = decide(assertion(authority=6), [standing])
    assert (restated.outcome, restated.yielding) == (GateOutcome.RESTATED, (standing,))


def test_how_many_values_a_key_takes_is_the_stronger_ones_to_say():
    assert decide(assertion(AUSTIN, exclusive=False), [assertion(authority=6)]).outcome == GateOutcome.LOST
    assert decide(assertion(AUSTIN), [assertion(authority=6, exclusive=False)]).outcome == GateOutcome.ADMITTED
    assert decide(assertion(AUSTIN, exclusive=False), [assertion(owner=BOB)]).outcome == GateOutcome.LOST


def test_several_values_never_oppose():
    assert (
        decide(assertion(AUSTIN, exclusive=False), [assertion(exclusive=False, owner=BOB)]).outcome
        == GateOutcome.ADMITTED
    )


def test_sessions_meet_only_themselves():
    everywhere, here = assertion(authority=6), assertion(authority=6, scope="session", session_id="s1")
    assert decide(assertion(AUSTIN, scope="session", session_id="s1"), [everywhere]).outcome == GateOutcome.ADMITTED
    assert decide(assertion(AUSTIN, scope="session", session_id="s2"), [here]).outcome == GateOutcome.ADMITTED
    assert decide(assertion(AUSTIN, scope="session", session_id="s1"), [here]).outcome == GateOutcome.LOST
    assert decide(assertion(AUSTIN), [here]).outcome == GateOutcome.ADMITTED


def test_global_and_temporal_oppose_each_other():
    assert decide(assertion(AUSTIN, scope="temporal"), [assertion(authority=6)]).outcome == GateOutcome.LOST


def test_periods_are_half_open():
    before = assertion(authority=6, scope="temporal", period=Period(YEAR[1], YEAR[4]))
    after = assertion(AUSTIN, scope="temporal", period=Period(YEAR[4], None))
    assert decide(after, [before]).outcome == GateOutcome.ADMITTED


def test_a_later_beginning_closes_the_standing_period_instead_of_erasing_it():
    standing = assertion(authority=2, scope="temporal", period=Period(YEAR[1], None))
    decision = decide(assertion(AUSTIN, scope="temporal", period=Period(YEAR[4], None)), [standing])
    shortened = replace(standing, period=Period(YEAR[1], YEAR[4]))
    assert (decision.outcome, decision.closing, decision.yielding) == (GateOutcome.WON, (shortened,), ())


@pytest.mark.parametrize("since", [None, YEAR[1], YEAR[3]])
def test_what_is_over_leaves_what_goes_on_from_its_end(since):
    standing, past = assertion(period=Period(since)), Period(YEAR[2], YEAR[4])
    decision = decide(assertion(AUSTIN, scope="temporal", period=past), [standing], now=YEAR[5])
    rest = replace(standing, period=Period(YEAR[4]))
    assert (decision.outcome, decision.closing, decision.yielding) == (GateOutcome.WON, (rest,), ())
    ended = replace(standing, period=Period(since, YEAR[5]))
    assert decide(assertion(AUSTIN, scope="temporal", period=past), [ended], now=YEAR[5]).closing != (rest,)


def test_an_earlier_open_end_stops_where_the_standing_claim_begins():
    standing = assertion(authority=6, scope="temporal", period=Period(YEAR[4], None))
    earlier = assertion(AUSTIN, scope="temporal", period=Period(YEAR[1], None))
    assert clipped_period(earlier, [standing]) == Period(YEAR[1], YEAR[4])
    closed = assertion(AUSTIN, scope="temporal", period=Period(YEAR[1], YEAR[6]))
    assert clipped_period(closed, [standing]) == closed.period


moments = st.none() | st.sampled_from(YEAR)
periods = st.builds(Period, moments, moments).filter(lambda p: p.start is None or p.end is None or p.start < p.end)
assertions = st.builds(
    Assertion,
    fragment_id=st.uuids(),
    owner_id=st.sampled_from([ALICE, BOB]),
    authority=st.integers(1, 6),
    value=st.sampled_from([SEATTLE, AUSTIN, OSLO]),
    scope=st.sampled_from(["global", "temporal"]),
    session_id=st.sampled_from(["", "s1"]),
    period=periods,
    exclusive=st.booleans(),
)


@given(newcomer=assertions, standing=st.lists(assertions, max_size=6), newer=st.sampled_from(Policy))
def test_nobody_ever_replaces_somebody_stronger(newcomer, standing, newer):
    decision = decide(newcomer, standing, policy=newer)
    assert all(other.authority <= newcomer.authority for other in (*decision.yielding, *decision.closing))
    assert decision.outcome != GateOutcome.LOST or not (decision.yielding or decision.closing)


@given(newcomer=assertions, standing=st.lists(assertions, max_size=6))
def test_whoever_is_left_opposes_the_newcomer_only_in_quarantine(newcomer, standing):
    decision = decide(newcomer, standing)
    gone = {other.fragment_id for other in (*decision.yielding, *decision.closing)}
    twins = [other for other in standing if newcomer.repeats(other) and other.period.contains(newcomer.period)]
    # Where two that oppose each other stand, a person kept both: who repeats one of them opposes neither.
    kept = {other.fragment_id for other in standing if any(twin.opposes(other) for twin in twins)}
    if decision.outcome in (GateOutcome.ADMITTED, GateOutcome.WON, GateOutcome.RESTATED):
        assert not any(newcomer.opposes(other) for other in standing if other.fragment_id not in gone | kept)


@given(newcomer=assertions, standing=st.lists(assertions, max_size=6), seed=st.randoms())
def test_the_order_of_the_standing_does_not_matter(newcomer, standing, seed):
    shuffled = standing[:]
    seed.shuffle(shuffled)
    one, two = decide(newcomer, standing), decide(newcomer, shuffled)
    assert one.outcome == two.outcome
    assert {o.fragment_id for o in one.yielding} == {o.fragment_id for o in two.yielding}
    assert {o.fragment_id for o, _ in one.opponents} == {o.fragment_id for o, _ in two.opponents}


@given(one=periods, other=periods)
def test_overlap_is_symmetric(one, other):
    assert one.overlaps(other) == other.overlaps(one)


@pytest.mark.parametrize("authority", range(1, 7))
def test_authority_is_the_only_ladder(authority):
    for standing in range(1, 7):
        won = (
            decide(assertion(AUSTIN, authority=authority, owner=BOB), [assertion(authority=standing)]).outcome
            == GateOutcome.WON
        )
        assert won == (authority > standing)


def test_who_repeats_one_of_two_that_a_person_kept_opposes_neither():
    one, other = assertion(SEATTLE, authority=1), assertion(AUSTIN, authority=1, owner=BOB, slot=1)
    decision = decide(assertion(SEATTLE, authority=6), [one, other])
    assert (decision.outcome, decision.yielding) == (GateOutcome.RESTATED, (one,))


def test_two_that_need_no_decision_excuse_nobody():
    """A stronger one said that there may be many values; a still stronger one says that there is one."""
    many, other = assertion(SEATTLE, authority=4, exclusive=False), assertion(AUSTIN, authority=1, owner=BOB, slot=1)
    decision = decide(assertion(SEATTLE, authority=6), [many, other])
    assert (decision.outcome, set(decision.yielding)) == (GateOutcome.RESTATED, {many, other})
