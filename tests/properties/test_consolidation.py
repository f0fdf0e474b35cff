"""Properties of consolidation: 7 to 11; and what every run promises besides."""

import datetime
import math

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from memories.models.scoring import Rates
from tests.properties.ground import examples, undone
from tests.properties.upkeep import NOW, Ground, alike_and_repeated, namespaces

pytestmark = pytest.mark.long

few = settings(examples, max_examples=25)  # each consolidates several times
policies = st.sampled_from(["episodic", "all"])


@examples
@given(told=namespaces)
def test_property_07_deduplication_merges_similar_fragments(principal, told):
    """Feature: hindsight-persistent-memory, Property 7: Deduplication merges similar fragments"""
    with undone():
        ground = Ground(principal, told)
        before = ground.alike(told)
        report = ground.run().report
        assert ground.alike(told) == []
        rows = ground.rows()
        assert report["after"]["active"] <= report["before"]["active"]
        assert set(rows) >= set(ground.ids)
        for one, other in before:
            assert "active" not in (rows[one].status, rows[other].status) or rows[one].status != rows[other].status


@examples
@given(told=namespaces)
def test_property_08_merge_preserves_highest_relevance_and_combines_provenance(principal, told):
    """Feature: hindsight-persistent-memory, Property 8: Merge preserves highest relevance and combines provenance"""
    with undone():
        ground = Ground(principal, told)
        before = ground.rows()
        merged = ground.merged(ground.run())
        after = ground.rows()
        for loser, keeper in merged.items():
            both, kept = [before[loser], before[keeper]], after[keeper]
            assert (after[loser].status, after[loser].superseded_by_id) == ("superseded", keeper)
            assert kept.relevance_at(NOW) >= max(row.relevance_at(NOW) for row in both) - 1e-9
            assert set(kept.source_ids) >= {source for row in both for source in row.source_ids}
            assert set(kept.tags) >= {tag for row in both for tag in row.tags}


RANK_OF_THE_USER = 6


@settings(few, phases=(Phase.explicit, Phase.generate))
@given(told=namespaces, policy=policies)
def test_nothing_weaker_takes_the_place_of_what_is_stronger(principal, told, policy):
    with undone():
        ground = Ground(principal, told, policy=policy)
        before = ground.rows()
        ground.run(compress_age_days=0)
        after = ground.rows()
    digests = [row for row in after.values() if row.source_type == "digest"]
    for row in before.values():
        now = after[row.id]
        if row.status != "active" or now.status == "active":
            continue
        if now.status == "superseded":
            assert after[now.superseded_by_id].authority >= row.authority
        elif now.archived_reason == "digested":
            (digest,) = [digest for digest in digests if row.id in digest.parents]
            assert digest.authority == row.authority < RANK_OF_THE_USER
        elif now.archived_reason == "decayed":
            assert row.authority < RANK_OF_THE_USER


@examples
@given(base=st.floats(0, 1), days=st.floats(0, 3650), pinned=st.booleans())
def test_property_09_forgetting_curve_exponential_decay(base, days, pinned):
    """Feature: hindsight-persistent-memory, Property 9: Forgetting curve exponential decay"""
    found = Rates().decayed(base, days=days, kept=pinned)
    assert found == pytest.approx(base if pinned else base * math.exp(-0.05 * days), abs=1e-6)


@examples
@given(told=namespaces)
def test_property_10_below_threshold_fragments_archived_not_deleted(principal, told):
    """Feature: hindsight-persistent-memory, Property 10: Below-threshold fragments archived not deleted"""
    with undone():
        ground = Ground(principal, told, policy="all")
        before = ground.rows()
        ground.run()
        after = ground.rows()
        assert set(after) >= set(before)
        fading = [
            row
            for row in after.values()
            if not row.is_pinned and row.authority < RANK_OF_THE_USER and row.relevance_at(NOW) < 0.1 - 1e-9
        ]
        assert "active" not in {row.status for row in fading}
        for row in after.values():
            if row.archived_reason == "decayed":
                assert (row.status, row.content) == ("archived", before[row.id].content)
                assert row.relevance_at(NOW) < 0.1


@examples
@given(told=namespaces, policy=policies)
def test_property_11_consolidation_report_accuracy(principal, told, policy):
    """Feature: hindsight-persistent-memory, Property 11: Consolidation report accuracy"""
    with undone():
        ground = Ground(principal, told, policy=policy)
        before = ground.rows()
        report = ground.run().report
        after = ground.rows()

    def turned(status, *reasons):
        return [
            row
            for row in after.values()
            if row.status == status
            and (row.id not in before or before[row.id].status != status)
            and (not reasons or row.archived_reason in reasons)
        ]

    assert report["merged"] + report["contradictions"]["resolved"] == len(turned("superseded"))
    assert report["compressed"]["source_memories"] == len(turned("archived", "digested"))
    assert report["compressed"]["clusters"] == len(set(after) - set(before))
    assert report["archived"] == len(turned("archived", "decayed", "superseded", "disputed"))
    assert report["pruned"]["decayed"] == len(turned("archived", "decayed"))
    assert report["contradictions"]["pending"] == len(turned("quarantined"))
    cooled = [row for row in after.values() if row.id in before and row.tier != before[row.id].tier]
    assert report["decayed"] == len(cooled)
    voices = sum(after[i].corroboration - before[i].corroboration for i in before)
    # Whoever is heard at the gate to say what stands speaks for it too.
    at_the_gate = voices - report["corroborated"]
    assert 0 <= at_the_gate <= report["contradictions"]["resolved"]
    for name, rows in (("before", before), ("after", after)):
        active = [row for row in rows.values() if row.status == "active"]
        assert report[name] == {"total": len(rows), "active": len(active)}


@few
@given(told=namespaces, policy=policies)
def test_twice_at_one_time_is_once(principal, told, policy):
    with undone():
        ground = Ground(principal, told, policy=policy)
        ground.run()
        once = ground.digest()
        assert ground.run().report["planned"] == 0
        assert ground.digest() == once


@few
@given(told=namespaces, policy=policies)
def test_undo_is_the_identity_on_any_namespace(principal, told, policy):
    with undone():
        ground = Ground(principal, told, policy=policy)
        before = ground.digest(dated=False)
        ground.undo(ground.run())
        assert ground.digest(dated=False) == before


@few
@example(told=alike_and_repeated(), policy="episodic")
@given(told=namespaces, policy=policies)
def test_a_dry_run_is_the_run_of_its_plan(principal, told, policy):
    with undone():
        ground = Ground(principal, told, policy=policy)
        before = ground.digest()
        foretold = ground.run(dry_run=True).report
        assert ground.digest() == before
        with undone():
            direct = ground.run().report
            after = ground.digest()
        done = ground.run(plan_id=foretold["plan_id"], now=NOW + datetime.timedelta(hours=1)).report
        assert ground.digest() == after
    ours = {"plan_id", "durationMs", "duration_ms", "dry_run", "used", "examined_to", "recorded"}
    told_by = [{k: v for k, v in report.items() if k not in ours} for report in (foretold, direct, done)]
    assert told_by[0] == told_by[1] == told_by[2]
