"""Compaction: what it promises, and what a team may rely on besides."""

import datetime
from contextlib import nullcontext

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from conflicts.public import ClaimDraft
from conflicts.search_index import BlockedByErasure
from memories import access, erasure, ingest, jobs, upkeep
from memories.access import NotFound, NotPermitted
from memories.language.abridgement import ARCHIVED
from memories.models import Archive, Embedding, Erasure, Keywords, Revision
from memories.operations import BadOptions
from memories.upkeep.lifecycle.compaction import WaitsForDecision
from memories.upkeep.lifecycle.restoration import Purged
from memories.upkeep.thresholds import set_thresholds

LONG = "The heron nests behind the mill. It eats otters' fish. Ada saw it often. She told nobody about it."
SUMMARY = "The heron nests behind the mill. It eats otters' fish. Ada saw it often."
KEYWORDS = "heron, nests, otters"


@pytest.fixture
def vectors(principal):
    """The vectors of all fragments."""

    def read():
        with access.enter(principal, why="test"):
            return sorted(str(row) for row in Embedding.objects.values_list("fragment_id", "model_id", "vector"))

    return read


@pytest.fixture
def compact_fragment(principal):
    """Compacts one fragment on request."""

    def compact(row, level, by=principal):
        return upkeep.lifecycle.compact_one(by, row.id, level=level, now=timezone.now())

    return compact


@pytest.mark.parametrize(
    ("age", "level", "text"),
    [
        (29.9, "full", LONG),
        (30.1, "summary", SUMMARY),
        (89.9, "summary", SUMMARY),
        (90.1, "keywords", None),
        (179.9, "keywords", None),
        (180.1, "hash", ARCHIVED),
    ],
)
def test_age_decides_how_much_is_left(old, run, fresh, age, level, text):
    row = old(age, LONG)
    report = run("compact").report
    after = fresh(row)
    assert after.compression == level
    assert after.content == text if text else after.content.startswith(KEYWORDS)
    assert report["compacted_count"] == (level != "full")
    assert report["compacted_ids"] == ([str(row.id)] if level != "full" else [])


def test_one_step_after_the_other(old, run, fresh, at):
    row = old(10, LONG)
    for days, level in ((0, "full"), (-25, "summary"), (-85, "keywords"), (-175, "hash")):
        at(days)
        run("compact")
        assert fresh(row).compression == level


def test_only_the_text_changes(old, run, fresh, vectors, principal):
    row = old(40, LONG, source="tool_output", claim=ClaimDraft("heron", "nests", "mill"), entities=[], topics=["birds"])
    before, placed = fresh(row), vectors()
    run("compact")
    after = fresh(row)
    names = [field.attname for field in before._meta.concrete_fields if field.attname != "change"]
    changed = {name for name in names if getattr(before, name) != getattr(after, name)}
    assert changed == {"content", "compression", "revision", "fingerprint", "details_digest"}
    assert (after.claim.value, after.updated_at, after.authority) == ("mill", before.updated_at, before.authority)
    assert vectors() == placed


def test_keyword_search_knows_the_words_that_are_left(old, run, principal):
    row = old(40, LONG)
    run("compact")
    with access.enter(principal, why="test"):
        words = str(Keywords.objects.get(fragment=row).words)
    assert "otter" in words
    assert "nobodi" not in words


@pytest.mark.parametrize("kept", [{"importance": 0.7}, {"is_pinned": True}, {"is_anchor": True}])
def test_what_weighs_much_is_untouched(old, run, picture, kept, compact_fragment):
    row = old(400, LONG, **kept)
    before = picture()
    assert run("compact").report == {
        "compacted_count": 0,
        "skipped_high_weight": 1,
        "already_compressed": 0,
        "compacted_ids": [],
    }
    assert compact_fragment(row, "hash")["skipped_high_weight"] == 1
    assert picture() == before


def test_what_is_read_stays(old, read_at, run, fresh):
    row = old(400, LONG)
    read_at(row, 3)
    run("compact")
    assert fresh(row).content == LONG


def test_who_waits_for_a_decision_and_whom_it_is_about_stay(old, run, picture, compact_fragment):
    strong = old(400, LONG, source="tool_output", claim=ClaimDraft("Ada", "age", "7"))
    weak = old(399, LONG + " Or not.", claim=ClaimDraft("Ada", "age", "8"))
    before = picture()
    assert run("compact").report["compacted_count"] == 0
    for row in (strong, weak):
        with pytest.raises(WaitsForDecision):
            compact_fragment(row, "hash")
    assert picture() == before


def test_run_again_it_changes_nothing(old, run, picture):
    old(40, LONG)
    run("compact")
    after = picture()
    report = run("compact").report
    assert (report["compacted_count"], report["already_compressed"]) == (0, 1)
    assert picture() == after


def test_a_dry_run_changes_nothing_and_counts(old, run, picture):
    old(40, LONG)
    before = picture()
    assert run("compact", dry_run=True).report["would_compact"] == 1
    assert picture() == before


def test_undo_gives_the_text_back(old, run, undo, fresh, count, vectors):
    row = old(100, LONG)
    placed = vectors()
    ended = run("compact")
    assert (count(Archive), count(Revision)) == (1, 0)
    assert undo(ended) == {"restored": 1, "stale": 0}
    after = fresh(row)
    assert (after.content, after.compression, after.updated_at) == (LONG, "full", row.updated_at)
    assert (count(Archive), count(Revision)) == (0, 0)
    assert vectors() == placed
    assert undo(ended) == {"restored": 0, "stale": 0}


def test_undo_leaves_what_was_rewritten_since(old, run, undo, fresh, principal, now):
    row = old(100, LONG)
    ended = run("compact")
    ingest.updates.revise(principal, row.id, changes={"content": "All new."}, revision=None, now=now)
    assert fresh(row).compression == "full"
    assert undo(ended) == {"restored": 0, "stale": 1}
    assert fresh(row).content == "All new."


def test_undo_in_turn(old, run, undo, fresh, at):
    row = old(10, LONG)
    at(-25)
    first = run("compact")
    at(-85)
    second = run("compact")
    assert undo(first) == {"restored": 0, "stale": 1}
    assert undo(second) == {"restored": 1, "stale": 0}
    assert fresh(row).content == SUMMARY
    assert undo(first) == {"restored": 1, "stale": 0}
    assert fresh(row).content == LONG


def test_on_request_at_any_age_and_back(old, compact_fragment, fresh):
    row = old(0, LONG)
    assert compact_fragment(row, "hash")["compacted_ids"] == [str(row.id)]
    assert (fresh(row).content, fresh(row).compression) == (ARCHIVED, "hash")
    assert compact_fragment(row, "summary")["already_compressed"] == 1
    compact_fragment(row, "full")
    assert (fresh(row).content, fresh(row).compression) == (LONG, "full")
    compact_fragment(row, "full")
    assert fresh(row).content == LONG


def test_without_a_copy_there_is_no_way_back(old, compact_fragment, fresh, principal):
    row = old(0, LONG)
    compact_fragment(row, "summary")
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    with pytest.raises(Purged):
        compact_fragment(row, "full")
    assert fresh(row).content == SUMMARY


def test_the_weaker_and_those_elsewhere_compact_nothing(old, compact_fragment, bob, charlie, picture):
    row = old(0, LONG, source="system")
    before = picture()
    for who, error in ((bob, NotPermitted), (charlie, NotFound)):
        with pytest.raises(error):
            compact_fragment(row, "hash", by=who.principal)
    assert picture() == before


def test_forgetting_knows_the_text_that_was_compacted(old, compact_fragment, store, principal, now, count):
    row = old(0, LONG)
    compact_fragment(row, "keywords")
    erasure.forget(principal, row.id, now=now)
    assert (count(Archive), count(Erasure)) == (0, 2)
    with pytest.raises(BlockedByErasure):
        store("acme:main", LONG)


def test_what_would_read_like_a_forgotten_text_is_left(old, run, fresh, store, principal, now):
    row = old(40, LONG)
    erasure.forget(principal, store("acme:main", SUMMARY).id, now=now)
    assert run("compact").report["compacted_count"] == 0
    assert fresh(row).content == LONG


def test_a_forgotten_text_does_not_come_back_by_undo(old, run, undo, fresh, store, principal, now):
    row = old(40, LONG)
    ended = run("compact")
    erasure.forget(principal, store("acme:main", LONG).id, now=now)
    assert undo(ended) == {"restored": 0, "stale": 1}
    assert fresh(row).content == SUMMARY


def test_rebuilding_the_vectors_takes_what_was_said(old, run, vectors, compact_fragment, principal):
    row = old(200, LONG)
    placed = vectors()
    run("compact")
    run("rebuild", target="embeddings")
    assert vectors() == placed
    with access.enter(principal, why="test"):
        Archive.objects.all().delete()
    run("rebuild", target="embeddings")
    assert vectors() == placed
    assert row.id


def test_what_returns_from_the_archive_is_read_as_it_was_said(old, compact_fragment, fresh, principal, store, now):
    row = old(1, "My favorite color is green.")
    compact_fragment(row, "hash")
    ingest.updates.archive(principal, row.id, now=now)
    store(
        "acme:main",
        "The favorite color is blue.",
        source="system",
        claim=ClaimDraft("user", "favorite color", "blue"),
    )
    ingest.updates.unarchive(principal, row.id, now=now)
    assert fresh(row).status == "quarantined"


@pytest.mark.long
def test_thousands_take_as_many_queries_a_batch(fill, run, undo):
    spent = []
    for days, number in ((40, 1000), (100, 2000)):
        fill(number, days)
        with CaptureQueriesContext(connection) as queries:
            ended = run("compact")
        assert ended.report["compacted_count"] >= number
        spent.append(len(queries) / (number / 500))
    assert spent[1] <= spent[0]
    assert undo(ended)["restored"] == 2000


def test_one_namespace_and_one_tier_alone(old, run, fresh, change):
    here, side, cold = old(40, LONG), old(40, LONG, namespace="acme:side"), old(40, LONG + " Yes.")
    change(cold, tier="cold")
    run("compact", namespace=here.namespace, tier="hot")
    assert [fresh(row).compression for row in (here, side, cold)] == ["summary", "full", "full"]


def test_thresholds_on_request(old, run, fresh):
    row = old(3, LONG)
    run("compact", summary_days=1, keywords_days=2)
    assert fresh(row).compression == "keywords"


@pytest.mark.parametrize(
    "options",
    [
        {"tier": "lukewarm"},
        {"summary_days": 0},
        {"summary_days": -3},
        {"summary_days": True},
        {"summary_days": 1.5},
        {"hash_days": 10**9},
        {"moon": 1},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(BadOptions):
        jobs.check_options("compact", options)


@pytest.mark.parametrize(
    ("own", "options", "are_refused"),
    [
        ({}, {"summary_days": 100}, True),
        ({}, {"keywords_days": 30}, True),
        ({"keywords_days": 150}, {"summary_days": 100}, False),
        ({"summary_days": 10, "keywords_days": 20}, {"keywords_days": 10}, True),
    ],
)
def test_days_rise_with_those_of_the_project(principal, own, options, are_refused, now):
    set_thresholds(principal, own)
    with pytest.raises(BadOptions, match="have to rise") if are_refused else nullcontext():
        jobs.start(principal, kind="compact", namespace=None, options=options, now=now, wake_up=False)


def test_a_copy_of_a_text_is_kept_for_the_retention_time(old, run, principal, settings):
    old(40, LONG)
    ended = run("compact")
    with access.enter(principal, why="test"):
        (copy,) = Archive.objects.within(principal.project_id)
    kept = datetime.timedelta(days=settings.ARCHIVE_DAYS)
    assert (copy.reason, copy.operation_id, copy.expires_at - copy.archived_at) == ("compacted", ended.id, kept)
