"""The key state of a key: judging in order, slots, precedents, waiting twins, and which conflicts have to be there."""

import datetime
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflicts.enums import ConflictReason
from conflicts.gate import Assertion, Binding, Period
from conflicts.key_state import KeyState, pair_conflicts
from conflicts.resolution.periods import CannotSplit, split
from memories.models.enums import Status

ALICE, BOB, CAROL = (uuid.UUID(int=number) for number in (1, 2, 3))
YEAR = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in range(2018, 2027)]
SEATTLE, AUSTIN, OSLO = b"seattle", b"austin", b"oslo"


def assertion(value=SEATTLE, *, authority=3, owner=ALICE, **more):
    return Assertion(fragment_id=uuid.uuid4(), owner_id=owner, authority=authority, value=value, **more)


def key_state(*standing, waiting=(), bindings=()):
    book = KeyState(waiting={s.fragment_id: s for s in waiting}, bindings=list(bindings))
    book.standing = {s.fragment_id: book.under_rulings(s) for s in standing}
    return book


def ruling(*, chosen=(), ruled_out=(), authority=6, **more):
    return Binding(uuid.uuid4(), authority, CAROL, frozenset(chosen), frozenset(ruled_out), **more)


def test_newcomers_meet_those_before_them():
    book = key_state()
    first, second = assertion(), assertion(AUSTIN)
    book.enter(book.judge(first))
    verdict = book.judge(second)
    assert verdict.superseded == (first.fragment_id,)
    book.enter(verdict)
    assert list(book.standing) == [second.fragment_id]


def test_the_same_value_in_another_scope_gets_a_slot_of_its_own():
    book = key_state(assertion())
    verdict = book.judge(assertion(scope="temporal", period=Period(YEAR[2])))
    assert (verdict.status, verdict.assertion.slot) == (Status.ACTIVE, 1)


def test_who_repeats_one_of_a_kept_pair_opposes_neither():
    seattle, austin = assertion(), assertion(AUSTIN, slot=1, owner=BOB)
    book = key_state(seattle, austin)
    assert book.judge(assertion(AUSTIN)).twin == austin.fragment_id
    stronger = book.judge(assertion(AUSTIN, authority=6))
    assert (stronger.status, stronger.superseded) == (Status.ACTIVE, (austin.fragment_id,))
    assert stronger.assertion.slot == 1


def test_a_third_value_opposes_both_of_a_kept_pair():
    book = key_state(assertion(), assertion(AUSTIN, slot=1, owner=BOB))
    assert len(book.judge(assertion(OSLO, owner=uuid.UUID(int=3))).opponents) == 2


def test_a_value_that_was_ruled_out_stays_out_below_the_rulings_authority():
    old = ruling(ruled_out=[AUSTIN], authority=3)
    book = key_state(assertion(), bindings=[old])
    barred = book.judge(assertion(AUSTIN, authority=3, owner=BOB))
    assert (barred.status, barred.why, barred.ruling_id) == (Status.ARCHIVED, "precedent_rejected", old.ruling_id)
    assert book.judge(assertion(AUSTIN, authority=4)).status == Status.ACTIVE
    assert book.judge(assertion(AUSTIN, authority=2), by_a_person=True).status == Status.QUARANTINED
    assert book.judge(assertion(AUSTIN, authority=3)).status == Status.ARCHIVED  # also whoever wrote what stands


def test_a_chosen_value_is_as_strong_as_its_ruling():
    book = key_state(assertion(authority=2), bindings=[ruling(chosen=[SEATTLE])])
    verdict = book.judge(assertion(AUSTIN, authority=5, owner=BOB))
    assert (verdict.status, verdict.superseded) == (Status.QUARANTINED, ())
    assert book.judge(assertion(AUSTIN, authority=6, owner=BOB)).status == Status.QUARANTINED
    assert book.judge(assertion(AUSTIN, authority=4, owner=CAROL)).status == Status.QUARANTINED
    assert book.judge(assertion(AUSTIN, authority=6, owner=CAROL)).superseded


def test_nobody_is_newer_than_a_ruling():
    book = key_state(assertion(authority=4), bindings=[ruling(chosen=[SEATTLE], authority=4)])
    assert book.judge(assertion(AUSTIN, authority=4, owner=BOB), policy="newest").status == Status.QUARANTINED


def test_the_users_words_stand_beside_a_ruling_in_a_slot_of_their_own():
    held = assertion(authority=2)
    book = key_state(held, bindings=[ruling(chosen=[SEATTLE])])
    verdict = book.judge(assertion(AUSTIN, authority=6, owner=ALICE, attested=True))
    assert (verdict.status, verdict.assertion.slot, verdict.superseded) == (Status.ACTIVE, 1, ())
    book.enter(verdict)
    later = book.judge(assertion(OSLO, authority=6, owner=ALICE, attested=True))
    assert (later.contests, later.superseded) == (True, (verdict.assertion.fragment_id,))


def test_a_ruling_on_one_session_or_time_binds_no_other():
    binding = ruling(chosen=[SEATTLE], period=Period(YEAR[0], YEAR[2]))
    assert key_state(assertion(period=Period(YEAR[3])), bindings=[binding]).judge(assertion(AUSTIN)).superseded
    assert (
        key_state(assertion(), bindings=[ruling(chosen=[SEATTLE], session_id="s")]).judge(assertion(AUSTIN)).superseded
    )


def test_what_waits_from_the_same_owner_waits_once():
    waiting = assertion(AUSTIN, authority=1)
    book = key_state(assertion(), waiting=[waiting])
    assert book.judge(assertion(AUSTIN, authority=1)).twin == waiting.fragment_id
    assert book.judge(assertion(AUSTIN, authority=1, owner=BOB)).twin is None


def test_a_later_temporal_claim_ends_the_former_period():
    seattle = assertion(scope="temporal", period=Period(YEAR[1]))
    book = key_state(seattle)
    verdict = book.judge(assertion(AUSTIN, scope="temporal", period=Period(YEAR[4])))
    assert verdict.closed == ((seattle.fragment_id, Period(seattle.period.start, YEAR[4])),)
    book.enter(verdict)
    assert book.standing[seattle.fragment_id].period == Period(YEAR[1], YEAR[4])


def test_free_text_contradicts_what_is_stronger_only():
    seattle = assertion(authority=6)
    book = key_state(seattle)
    said = assertion(AUSTIN, authority=1)
    assert book.contradicted(said, negated=False) == [seattle]
    assert book.contradicted(assertion(authority=1), negated=False) == []
    assert book.contradicted(assertion(authority=1), negated=True) == [seattle]
    assert book.contradicted(assertion(AUSTIN, authority=6), negated=False) == []


def test_a_conflict_moves_to_who_stands_now():
    waiting, austin = assertion(OSLO, authority=1), assertion(AUSTIN)
    conflict = uuid.uuid4()
    pairing = pair_conflicts(waiting, [austin], [(conflict, uuid.uuid4())])
    assert pairing.moved == [(conflict, austin, ConflictReason.AUTHORITY)]
    assert (pairing.missing, pairing.obsolete) == ([], [])


def test_with_nobody_left_a_conflict_stays():
    assert pair_conflicts(assertion(OSLO), [], [(uuid.uuid4(), uuid.uuid4())]).obsolete == []


IDS = st.lists(st.integers(0, 5), unique=True)


@given(IDS, IDS)
def test_after_pairing_every_opponent_has_one_conflict(now, before):
    people = {n: assertion(AUSTIN, owner=BOB) for n in range(6)}
    conflicts = {uuid.uuid4(): people[n].fragment_id for n in before}
    pairing = pair_conflicts(assertion(OSLO), [people[n] for n in now], list(conflicts.items()))
    left = {c: o for c, o in conflicts.items() if c not in pairing.obsolete}
    left |= {c: opponent.fragment_id for c, opponent, _ in pairing.moved}
    after = [*left.values(), *(opponent.fragment_id for opponent, _ in pairing.missing)]
    assert not now or sorted(after) == sorted(people[n].fragment_id for n in now)
    assert now or after == [people[n].fragment_id for n in before]


def test_periods_are_split_where_the_later_begins():
    seattle, austin = assertion(period=Period(YEAR[1])), assertion(AUSTIN, period=Period(YEAR[4]))
    assert split(austin, [seattle], at=YEAR[8]) == (Period(YEAR[4]), {seattle.fragment_id: Period(YEAR[1], YEAR[4])})
    assert split(seattle, [austin], at=YEAR[8]) == (Period(YEAR[1], YEAR[4]), {})


def test_of_two_without_a_beginning_the_newcomer_begins_now():
    seattle = assertion()
    assert split(assertion(AUSTIN), [seattle], at=YEAR[5]) == (
        Period(YEAR[5]),
        {seattle.fragment_id: Period(None, YEAR[5])},
    )


def test_of_several_that_begin_alike_the_longest_counts_in_whatever_order():
    ended, open_ended = assertion(period=Period(None, YEAR[2])), assertion(OSLO)
    expected = Period(YEAR[5]), {open_ended.fragment_id: Period(None, YEAR[5])}
    assert split(assertion(AUSTIN), [ended, open_ended], at=YEAR[5]) == expected
    assert split(assertion(AUSTIN), [open_ended, ended], at=YEAR[5]) == expected


def test_two_that_begin_alike_later_than_now_can_not_be_split():
    with pytest.raises(CannotSplit):
        split(assertion(AUSTIN, period=Period(YEAR[5])), [assertion(period=Period(YEAR[5]))], at=YEAR[2])


PERIODS = st.tuples(st.sampled_from([None, *YEAR]), st.sampled_from([None, *YEAR])).filter(
    lambda pair: pair[0] is None or pair[1] is None or pair[0] < pair[1]
)


@given(PERIODS, st.lists(PERIODS, max_size=3), st.sampled_from(YEAR))
def test_split_periods_never_overlap_and_run_forward(mine, others, at):
    opponents = [assertion(period=Period(*other)) for other in others]
    try:
        period, periods = split(assertion(AUSTIN, period=Period(*mine)), opponents, at=at)
    except CannotSplit:
        return
    after = [periods.get(o.fragment_id, o.period) for o in opponents]
    assert not any(period.overlaps(other) for other in after)
    for other in (period, *after):
        assert other.start is None or other.end is None or other.start < other.end
