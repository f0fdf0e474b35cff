"""Memories of several claims in bundles: what became of each comes back, and bundles from before still read."""

import pytest

from conflicts.public import ClaimDraft
from memories import access
from memories.models import Claim
from tests.backups.conftest import forged


def draft(predicate, value):
    return ClaimDraft("Ada", predicate, value)


@pytest.fixture
def begun(store, alice, bob):
    """One claim replaced, one waiting, one standing: a memory of three."""
    store("acme:main", "Ada is six.", by=alice.principal, source="user_explicit", claims=[draft("age", "6")])
    three = [draft("age", "7"), draft("lives in", "Oslo"), draft("dog name", "Rex")]
    kept = store("acme:main", "Ada, seven, of Oslo, has Rex.", by=bob.principal, source="tool_output", claims=three)
    store(
        "acme:main",
        "Ada lives in Voss.",
        by=alice.principal,
        source="user_explicit",
        claims=[draft("lives in", "Voss")],
    )
    return kept


@pytest.fixture
def verdicts(principal):
    def claims_of(row):
        with access.enter(principal, why="test"):
            mine = Claim.objects.within(principal.project_id).filter(fragment=row.id).order_by("position")
            return list(mine.values_list("value", "status", "superseded_by__content"))

    return claims_of


def test_several_claims_come_back_as_they_were(begun, back_up, restore, wipe, lines, verdicts):
    before, backup = verdicts(begun), back_up()
    assert [status for _, status, _ in before] == ["quarantined", "superseded", "active"]
    wipe()
    restore(backup)
    assert verdicts(begun) == before
    assert lines(back_up()) == lines(backup)


def test_a_drill_knows_several_claims(begun, back_up, job):
    ended = job("drill", backup_id=str(back_up().id))
    assert ended.state == "succeeded", ended.error


def test_a_bundle_from_before_holds_one_claim_each(store, alice, back_up, restore, wipe, storage, verdicts):
    row = store("acme:main", "Ada is six.", by=alice.principal, claims=[draft("age", "6")])
    backup = back_up()

    def as_before(told):
        for each in told:
            if each.get("kind") == "fragment":
                for name in ("position", "verdict", "superseded_by_id", "span_start", "span_end"):
                    del each["claim"][name]

    forged(storage / backup.file, as_before)
    wipe()
    restore(backup)
    assert verdicts(row) == [("6", "active", None)]


def test_a_claim_that_is_opposed_when_it_comes_back_waits_while_its_memory_stands(
    begun, store, alice, back_up, restore, wipe, verdicts
):
    backup = back_up()
    wipe()
    store("acme:main", "Her dog is Max.", by=alice.principal, source="user_explicit", claims=[draft("dog name", "Max")])
    store("acme:main", "Ada has a cat.", by=alice.principal, source="user_explicit", claims=[draft("cat name", "Tom")])
    restore(backup)
    assert [status for _, status, _ in verdicts(begun)] == ["quarantined", "superseded", "quarantined"]
