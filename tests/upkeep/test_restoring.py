"""A tombstone gives its fragment back: byte for byte, or through the gate when belief went on without it."""

import datetime
import uuid

import pytest
from django.utils import timezone

from conflicts.models import PendingConflict
from conflicts.public import ClaimDraft
from conflicts.registry import register_predicate
from conflicts.search_index import BlockedByErasure
from memories import access, erasure, ingest, upkeep
from memories.access import NotFound, NotPermitted
from memories.models import Archive, Erasure, Fragment, Tombstone
from memories.models.enums import CopyReason, EvictionReason
from memories.upkeep.lifecycle.removal import Cause, remove_fragments
from memories.upkeep.lifecycle.restoration import Purged
from memories.upkeep.lifecycle.snapshots import copy_fragments as take_copies

ADA = ClaimDraft("Ada", "budget", "$750")


@pytest.fixture
def evict(principal):
    """Lets a fragment leave; the tombstone."""

    def go(row, *, now=None):
        cause = Cause(EvictionReason.LOW_WEIGHT, {"ratio": 0.8})
        with access.enter(principal, why="test"):
            remove_fragments(
                principal.project_id,
                {row.id: cause},
                copied=CopyReason.EVICTED,
                operation_id=None,
                now=now or timezone.now(),
            )
            return Tombstone.objects.select_related("namespace").get(original_id=row.id)

    return go


@pytest.fixture
def restore(principal):
    """Brings it back."""

    def back(stone, by=principal):
        return upkeep.lifecycle.restore(by, stone.id, now=timezone.now())

    return back


def conflicts(principal):
    with access.enter(principal, why="test"):
        return list(PendingConflict.objects.pending().values_list("newcomer_id", "existing_id"))


def test_a_tombstone_says_what_is_left_and_never_the_text(old, evict):
    row = old(
        40,
        "Ada told Bob that the secret word is xylophone.",
        topics=["secrets", "music"],
        entities=[
            {"text": "Bob", "label": "person", "confidence": 1.0},
            {"text": "Ada" * 40, "label": "person", "confidence": 1.0},
            {"text": "Oslo", "label": "location", "confidence": 1.0},
        ],
        event_at=datetime.datetime(2024, 5, 17, tzinfo=datetime.UTC),
    )
    stone = evict(row)
    assert (stone.topics, stone.participants) == (["secrets", "music"], [("Ada" * 40)[:100], "Bob"])
    assert (stone.approximate_date, stone.authority) == (datetime.date(2024, 5, 17), row.authority)
    assert "May 2024" in stone.sentence()
    told = str([value for name, value in vars(stone).items() if not name.startswith("_")]) + stone.sentence()
    assert "xylophone" not in told


def test_without_a_time_of_its_own_it_is_dated_by_its_birth(old, evict):
    row = old(40)
    assert evict(row).approximate_date == row.created_at.date()


def test_what_comes_back_is_what_left(old, evict, restore, picture, read_at, link, count):
    row = old(40, "Ada's budget is $750.", source="tool_output", claim=ADA, extra={"a": [1.5]})
    link(row, old(3, "The otter swims."))
    read_at(row, 20, times=3)
    before = picture()
    admission = restore(evict(row))
    assert (admission.fragment.id, admission.pending_conflicts, admission.superseded) == (row.id, [], [])
    assert picture() == before
    assert (count(Tombstone), count(Archive)) == (0, 0)


def test_it_is_found_by_the_fragments_id_too(old, evict, principal, fresh):
    row = old(40)
    evict(row)
    upkeep.lifecycle.restore(principal, row.id, now=timezone.now())
    assert fresh(row).content == row.content


@pytest.mark.parametrize("status", ["superseded", "archived", "disputed"])
def test_it_comes_back_in_the_state_it_was_in(old, evict, restore, picture, change, status, fresh):
    row = old(40, "Ada's budget is $750.", claim=ADA)
    change(row, status=status)
    before = picture()
    restore(evict(row))
    assert fresh(row).status == status
    assert picture() == before


def test_what_is_opposed_by_now_waits_in_quarantine(old, evict, restore, fresh, principal):
    row = old(40, "Ada's budget is $750.", source="tool_output", claim=ADA)
    stone = evict(row)
    other = old(1, "Ada's budget is $900.", source="tool_output", claim=ClaimDraft("Ada", "budget", "$900"))
    admission = restore(stone)
    back = fresh(row)
    assert (back.status, back.authority, back.created_at) == ("quarantined", row.authority, row.created_at)
    assert [conflict.existing_id for conflict in admission.pending_conflicts] == [other.id]
    assert conflicts(principal) == [(row.id, other.id)]
    assert fresh(other).status == "active"


def test_what_is_stronger_than_what_came_meanwhile_stands_again(old, evict, restore, fresh):
    row = old(40, "Ada's budget is $750.", source="system", claim=ADA)
    stone = evict(row)
    weaker = old(1, "Ada's budget is $0.", source="document", claim=ClaimDraft("Ada", "budget", "$0"))
    assert fresh(weaker).status == "active"
    admission = restore(stone)
    assert admission.superseded == [weaker.id]
    assert (fresh(row).status, fresh(weaker).status) == ("active", "superseded")


def test_what_was_said_again_meanwhile_is_not_doubled(old, evict, restore, fresh):
    row = old(40, "Ada's budget is $750.", source="tool_output", claim=ADA)
    stone = evict(row)
    again = old(1, "Her budget: 750 USD.", source="tool_output", claim=ClaimDraft("Ada", "budget", "750 USD"))
    restore(stone)
    assert (fresh(row).status, fresh(row).superseded_by_id) == ("superseded", again.id)


def test_a_text_that_contradicts_what_is_believed_by_now_waits(old, evict, restore, fresh):
    row = old(40, "My favorite color is green.")
    stone = evict(row)
    old(
        1,
        "The favorite color is blue.",
        source="system",
        claim=ClaimDraft("user", "favorite color", "blue"),
    )
    restore(stone)
    assert fresh(row).status == "quarantined"


def test_where_a_rule_changed_meanwhile_it_is_named_by_it(old, evict, restore, fresh, principal):
    row = old(40, "Ada owes Bob.", claim=ClaimDraft("Ada", "owes", "7 euros"))
    stone = evict(row)
    register_predicate(principal, namespace="acme:main", name="debt", aliases=["owes"], now=timezone.now())
    other = old(1, "Her debt is 9.", source="tool_output", claim=ClaimDraft("Ada", "debt", "9 euros"))
    restore(stone)
    assert (fresh(row).status, fresh(other).status) == ("quarantined", "active")


def test_without_a_copy_only_the_tombstone_is_left(old, evict, restore, principal, picture, count):
    stone = evict(old(40))
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    with pytest.raises(Purged):
        restore(stone)
    assert (count(Fragment), count(Tombstone)) == (0, 1)


def test_what_was_forgotten_meanwhile_does_not_come_back(old, evict, restore, principal, count):
    stone = evict(old(40, "The secret word is xylophone."))
    twin = old(1, "The secret word is  XYLOPHONE.")
    erasure.forget(principal, twin.id, now=timezone.now())
    with pytest.raises(BlockedByErasure):
        restore(stone)
    assert (count(Fragment), count(Tombstone), count(Archive)) == (0, 1, 1)


def test_who_is_weaker_or_elsewhere_restores_nothing(old, evict, restore, bob, charlie, reader, count):
    stone = evict(old(40, source="system"))
    for who, error in ((bob, NotPermitted), (charlie, NotFound), (reader, NotPermitted)):
        with pytest.raises(error):
            restore(stone, by=who.principal)
    with pytest.raises(NotFound):
        upkeep.lifecycle.restore(bob.principal, uuid.uuid4(), now=timezone.now())
    assert (count(Fragment), count(Tombstone), count(Archive)) == (0, 1, 1)


def test_forgetting_what_was_evicted_erases_every_copy(old, evict, store, principal, now, count):
    row = old(40, "The secret word is xylophone.")
    ingest.updates.revise(principal, row.id, changes={"content": "The secret word is zither."}, revision=None, now=now)
    evict(row)
    erasure.forget(principal, row.id, now=timezone.now())
    assert (count(Archive), count(Tombstone), count(Erasure)) == (0, 0, 2)
    for text in ("The secret word is xylophone.", "The secret word is zither."):
        with pytest.raises(BlockedByErasure):
            store("acme:main", text)


def test_forgetting_a_fragment_erases_its_copies(old, principal, count, now):
    row = old(40)
    with access.enter(principal, why="test"):
        take_copies(principal.project_id, [row.id], reason="evicted", operation_id=None, now=now)
    assert count(Archive) == 1
    erasure.forget(principal, row.id, now=now)
    assert count(Archive) == 0


def test_who_is_weaker_or_elsewhere_forgets_nothing_that_was_evicted(old, evict, bob, charlie, now, count):
    row = old(40, source="system")
    evict(row)
    for who, error in ((bob, NotPermitted), (charlie, NotFound)):
        with pytest.raises(error):
            erasure.forget(who.principal, row.id, now=now)
    assert (count(Tombstone), count(Archive), count(Erasure)) == (1, 1, 0)


def test_forgetting_takes_the_words_out_of_old_conflicts(old, evict, principal, now, store):
    from conflicts.resolution import Settlement, resolve

    old(41, "The favorite color is blue.", source="tool_output", claim=ClaimDraft("user", "favorite color", "blue"))
    row = store("acme:main", "My favorite color is green.")
    with access.enter(principal, why="test"):
        conflict = PendingConflict.objects.get(newcomer=row.id)
    resolve(principal, conflict.id, Settlement("reject", 1, note="not green"), now=now)
    evict(row)
    erasure.forget(principal, row.id, now=now)
    with access.enter(principal, why="test"):
        conflict.refresh_from_db()
    assert (conflict.statement, conflict.note, conflict.before) == (None, "", None)
