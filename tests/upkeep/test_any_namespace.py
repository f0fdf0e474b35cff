"""What upkeep does to a generated namespace it does once, as the dry run told, and can take back."""

import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conflicts.public import ClaimDraft
from memories import access, ingest
from memories.models import Access, Fragment
from tests.properties.ground import contents, undone

pytestmark = pytest.mark.long

few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
claims = st.none() | st.builds(
    ClaimDraft,
    subject=st.sampled_from(["Ada", "Bob"]),
    predicate=st.sampled_from(["budget", "likes"]),
    value=st.sampled_from(["$750", "$7500", "tea"]),
)
memories = st.lists(
    st.fixed_dictionaries(
        {
            "content": contents.map(str.strip) | st.just("One is here. Two are there! Three? Four otters swim. Five."),
            "claims": claims.map(lambda claim: [claim] if claim else []),
            "importance": st.floats(0, 1),
            "emotional_valence": st.floats(-1, 1),
            "is_pinned": st.booleans(),
            "source": st.sampled_from(["inference", "tool_output", "system"]),
            "days": st.floats(0, 400),
            "base": st.floats(0, 1),
            "reads": st.integers(0, 9),
        }
    ),
    min_size=1,
    max_size=4,
)


def settle(principal, rows, now):
    """Stores the memories as if they had been said and read in their time."""
    for row in sorted(rows, key=lambda row: -row["days"]):
        then = now - datetime.timedelta(days=row["days"])
        draft = {name: value for name, value in row.items() if name not in ("days", "base", "reads")}
        (kept,) = ingest.store(principal, ingest.prepare([ingest.Draft(namespace="acme:main", **draft)]), now=then)
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id=kept.fragment.id).update(base_relevance=row["base"])
            if row["reads"]:
                Access.objects.count_up(
                    principal.project_id, {kept.fragment.id: row["reads"]}, {kept.fragment.id: then}
                )


def but_revisions(pictured):
    """Without the number of the revision, which goes on counting."""
    rows = [row.partition('"revision": ')[::2] for _, row in pictured["memories_fragment"]]
    return {**pictured, "memories_fragment": [(head, tail.partition(",")[2]) for head, tail in rows]}


@few
@given(rows=memories)
def test_eviction_undone_is_nothing_done(principal, picture, run, undo, at, rows, settings):
    settings.CAPACITY = {"all": 10, "hot": 0, "warm": 0, "cold": 0}
    with undone():
        settle(principal, rows, at(0))
        before = picture()
        told = run("evict", target=0.0, dry_run=True).report
        assert picture() == before
        ended = run("evict", target=0.0)
        assert ended.report["evicted"] == told["would_evict"]
        assert len(picture()["memories_fragment"]) == len(before["memories_fragment"]) - told["would_evict"]
        assert run("evict", target=0.0).report["evicted"] == 0
        back = undo(ended)
        if back["through_the_gate"] == 0:
            assert picture() == before


@few
@given(rows=memories)
def test_compaction_undone_is_nothing_done(principal, picture, run, undo, at, rows):
    with undone():
        settle(principal, rows, at(0))
        before = picture()
        told = run("compact", dry_run=True).report
        assert picture() == before
        ended = run("compact")
        assert ended.report["compacted_count"] == told["would_compact"]
        after = picture()
        assert run("compact").report["compacted_count"] == 0
        assert picture() == after
        assert undo(ended) == {"restored": told["would_compact"], "stale": 0}
        assert but_revisions(picture()) == but_revisions(before)


@few
@given(rows=memories)
def test_tiers_are_moved_once_and_as_told(principal, picture, run, at, rows):
    with undone():
        settle(principal, rows, at(0))
        before = picture()
        told = run("tier", dry_run=True).report
        assert picture() == before
        assert run("tier").report == told
        after = picture()
        assert run("tier").report["moved"] == 0
        assert picture() == after
