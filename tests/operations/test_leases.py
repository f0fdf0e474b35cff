"""Who works on an operation: claims, leases, fencing tokens, the sweeper's question."""

import datetime

import pytest

from memories import operations
from memories.operations.leases import LeaseLost, lease, renew_lease

SECOND = datetime.timedelta(seconds=1)


def test_claiming_works(principal, begin, now):
    held = operations.claim(principal, begin(principal).id, now=now)
    assert (held.state, held.fence, held.started_at, held.heartbeat_at) == ("running", 1, now, now)
    assert held.lease_until == now + lease()


def test_what_is_held_is_not_claimed_again(principal, begin, row_of, now):
    held = operations.claim(principal, begin(principal).id, now=now)
    before = row_of(principal, held)
    assert operations.claim(principal, held.id, now=now + lease() - SECOND) is None
    assert vars(row_of(principal, held))["fence"] == before.fence == 1
    assert row_of(principal, held).lease_until == before.lease_until


def test_of_several_claimers_one_wins(service, begin, row_of, at_once, now):
    operation = begin(service)
    claims = at_once(*[lambda: operations.claim(service, operation.id, now=now)] * 6)
    assert [bool(claim) for claim in claims].count(True) == 1
    assert row_of(service, operation).fence == 1


def test_of_several_successors_one_wins(service, begin, row_of, at_once, now):
    operation = operations.claim(service, begin(service).id, now=now)
    later = now + lease() + SECOND
    claims = at_once(*[lambda: operations.claim(service, operation.id, now=later)] * 6)
    assert [bool(claim) for claim in claims].count(True) == 1
    assert row_of(service, operation).fence == 2


def test_an_expired_lease_hands_over_and_the_former_worker_writes_nothing(principal, begin, row_of, now):
    former = operations.claim(principal, begin(principal).id, now=now)
    later = now + lease() + SECOND
    latter = operations.claim(principal, former.id, now=later)
    assert (latter.fence, latter.started_at) == (2, now)
    with pytest.raises(LeaseLost):
        renew_lease(principal, former, now=later, done=99)
    assert row_of(principal, former).done == 0
    renew_lease(principal, latter, now=later, done=5)
    assert row_of(principal, former).done == 5


def test_a_sign_of_life_renews_the_lease(principal, begin, row_of, now):
    held = operations.claim(principal, begin(principal).id, now=now)
    renew_lease(principal, held, now=now + lease() - SECOND, done=1)
    assert row_of(principal, held).lease_until == now + lease() - SECOND + lease()
    assert operations.claim(principal, held.id, now=now + lease() + SECOND) is None


def test_what_was_cancelled_is_no_longer_held(principal, begin, row_of, now):
    operation = begin(principal)
    operations.cancel(principal, operation.id, now=now)
    assert operations.claim(principal, operation.id, now=now + 10 * lease()) is None
    assert row_of(principal, operation).state == "cancelled"


def test_stranded_are_the_long_queued_and_the_silent_only(principal, begin, now):
    long_ago = now - lease() - SECOND
    old, _fresh = begin(principal, now=long_ago), begin(principal, now=now)
    silent, held, ended = (begin(principal, now=long_ago + SECOND / 2) for _ in range(3))
    operations.claim(principal, silent.id, now=long_ago)
    operations.claim(principal, held.id, now=now)
    operations.cancel(principal, ended.id, now=now)
    assert operations.stranded_operations(principal, now=now) == [old.id, silent.id]


def test_stranded_operations_of_others_stay_out_of_sight(principal, charlie, begin, now):
    begin(charlie.principal, now=now - 2 * lease())
    assert operations.stranded_operations(principal, now=now) == []


def test_what_has_lost_its_worker_five_times_is_given_up(principal, begin, row_of, now):
    operation = begin(principal)
    for attempt in range(5):
        when = now + attempt * (lease() + SECOND)
        assert operations.claim(principal, operation.id, now=when)
    after = when + lease() + SECOND
    assert operations.stranded_operations(principal, now=after) == []
    ended = row_of(principal, operation)
    assert (ended.state, ended.error["code"], ended.finished_at) == ("failed", "worker_lost", after)
    assert operations.claim(principal, operation.id, now=after) is None
