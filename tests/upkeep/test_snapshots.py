"""Archive copies hold a fragment with everything under it, and give it back byte for byte."""

import datetime
from itertools import zip_longest

import pytest
from django.db import IntegrityError, transaction

from conflicts.public import ClaimDraft
from conflicts.votes import vote
from memories import access, ingest
from memories.models import Archive, EmbeddingModel, Fragment, PendingEmbedding
from memories.models.enums import CopyReason
from memories.upkeep.lifecycle import snapshots


@pytest.fixture
def rich(store, old, principal, bob, read_at, link, now):
    """A memory with all that can stand under one, beside others that name it."""
    replaced = old(5, "Ada's budget is $750.", source="tool_output", claim=ClaimDraft("Ada", "budget", "$750"))
    row = old(
        4,
        "Ada's budget is $800 \u2028 in Z\u00fcrich \U0001f600.",
        source="tool_output",
        claim=ClaimDraft("Ada", "budget", "$800"),
        tags=["money", "q,u\"o'te\\"],
        importance=0.1 + 0.2,
        emotional_valence=-1 / 3,
        event_at=datetime.datetime(2024, 5, 17, 1, 2, 3, 456789, tzinfo=datetime.UTC),
        extra={"deep": [1, 2.5, None, {"e": 1e300}], "text": "a\nb"},
        conversation_id="c-1",
        sequence=7,
    )
    ingest.updates.revise(
        principal, row.id, changes={"content": "Ada's budget is $800 in Z\u00fcrich."}, revision=None, now=now
    )
    read_at(row, 3, times=4)
    vote(bob.principal, row.id, "reinforce", now=now)
    link(row, old(6, "Something else entirely."), similarity=1 / 3)
    assert replaced.id != row.id
    return row


def archived_and_deleted(principal, rows, now, **more):
    ids = [row.id for row in rows]
    with access.enter(principal, why="test"):
        snapshots.copy_fragments(principal.project_id, ids, reason=CopyReason.EVICTED, operation_id=None, now=now)
        Fragment.objects.filter(id__in=ids).delete()


def returned(principal, rows):
    with access.enter(principal, why="test"):
        held = list(Archive.objects.within(principal.project_id).of([row.id for row in rows]))
        statuses = [copy.unpacked()["fragment"]["status"] for copy in held]
        snapshots.restore_fragments(held, statuses=statuses)


def test_what_comes_back_is_what_left(rich, principal, picture, now):
    before = picture()
    archived_and_deleted(principal, [rich], now)
    gone = picture()
    assert gone != before
    assert len(gone["memories_fragment"]) == len(before["memories_fragment"]) - 1
    returned(principal, [rich])
    assert picture() == before


def test_several_that_know_each_other_come_back_together(rich, principal, picture, now):
    with access.enter(principal, why="test"):
        rows = list(Fragment.objects.order_by("id"))
    before = picture()
    archived_and_deleted(principal, rows, now)
    assert not any(picture().values())
    returned(principal, rows)
    assert picture() == before


def test_a_copy_is_compressed_and_expires(rich, principal, now, settings):
    archived_and_deleted(principal, [rich], now)
    with access.enter(principal, why="test"):
        (copy,) = Archive.objects.within(principal.project_id).of([rich.id])
    assert len(copy.payload) < len(copy.text()) / 2
    assert copy.expires_at == now + datetime.timedelta(days=settings.ARCHIVE_DAYS)


def test_what_it_named_and_is_gone_by_now_is_left_out(old, link, principal, picture, now):
    row, other = old(2, "The heron nests."), old(2, "The otter swims.")
    link(row, other)
    archived_and_deleted(principal, [row], now)
    with access.enter(principal, why="test"):
        Fragment.objects.filter(id=other.id).delete()
    returned(principal, [row])
    assert picture()["memories_link"] == []
    assert [key for key, _ in picture()["memories_fragment"]] == [row.id]


def test_a_vector_that_is_missing_by_now_is_awaited(old, principal, now, count):
    row = old(2)
    archived_and_deleted(principal, [row], now)
    EmbeddingModel.objects.create(name="later", provider="fake", dim=384)
    returned(principal, [row])
    assert count(PendingEmbedding) == 1


def test_what_is_there_already_is_not_overwritten(old, principal, picture, now):
    row = old(2)
    with access.enter(principal, why="test"):
        snapshots.copy_fragments(principal.project_id, [row.id], reason=CopyReason.EVICTED, operation_id=None, now=now)
    before = picture()
    with pytest.raises(IntegrityError), transaction.atomic():
        returned(principal, [row])
    assert picture() == before


@pytest.mark.long
def test_many_are_copied_and_put_back_in_a_constant_number_of_queries(
    fill, principal, now, django_assert_num_queries, picture
):
    ids = fill(2000)
    before = picture()
    with access.enter(principal, why="test"):
        with django_assert_num_queries(5):  # the copies; a temporary table, its COPY, their INSERT, its end
            snapshots.copy_fragments(principal.project_id, ids, reason=CopyReason.EVICTED, operation_id=None, now=now)
        Fragment.objects.filter(id__in=ids).delete()
        held = list(Archive.objects.within(principal.project_id).of(ids))
        with django_assert_num_queries(13):
            snapshots.restore_fragments(held, statuses=["active"] * len(held))
    after = picture()
    differing = [
        (table, row, other)
        for table in before.keys() - {"memories_pendingembedding"}
        for row, other in zip_longest(before[table], after[table])
        if row != other
    ]
    assert differing[:3] == []  # pytest would compare thousands of rows for hours
