"""Neolata's rule does what its own tests say, so that attacks replayed on it meet the real thing.

Left out of its lists: evolve, embeddings and persistence, which the rule doesn't touch.
"""

import datetime

import pytest

from tests.conflicts.neolata import EPOCH, Claim, Neolata, compute_confidence, compute_trust, validity_overlaps

YEAR = [datetime.datetime(year, 1, 1, tzinfo=datetime.UTC) for year in range(2018, 2027)]


@pytest.fixture
def mem():
    """An empty memory."""
    return Neolata()


def budget(value, **more):
    return Claim("user", "budget", value, **more)


def status(mem, stored):
    return mem.memories[stored.memory.id].status


# Feature 1 and prompt 1: claims


def test_store_with_claim_keeps_and_indexes_it(mem):
    stored = mem.store("a", "User budget is $750", claim=budget("$750"))
    assert stored.memory.claim == budget("$750")
    assert mem.index == {"user::budget": {stored.memory.id}}


def test_conflicting_exclusive_claims_are_found_without_a_model(mem):
    stored = mem.store("a", "User budget is $750", claim=budget("$750"))
    assert mem.structural_conflicts(budget("$900")) == [stored.memory]


def test_the_same_value_is_no_conflict(mem):
    mem.store("a", "User budget is $750", claim=budget("$750"))
    assert mem.structural_conflicts(budget("$750")) == []


@pytest.mark.parametrize("settled", ["superseded", "quarantined"])
def test_superseded_and_quarantined_memories_oppose_nobody(mem, settled):
    mem.store("a", "User budget is $750", claim=budget("$750")).memory.status = settled
    assert mem.structural_conflicts(budget("$900")) == []


def test_disputed_memories_still_oppose(mem):
    mem.store("a", "User budget is $750", claim=budget("$750")).memory.status = "disputed"
    assert mem.structural_conflicts(budget("$900"))


@pytest.mark.parametrize(("first", "second"), [(False, True), (True, False), (False, False)])
def test_non_exclusive_claims_never_conflict(mem, first, second):
    mem.store("a", "User likes tea", claim=Claim("user", "likes", "tea", exclusive=first))
    assert mem.structural_conflicts(Claim("user", "likes", "coffee", exclusive=second)) == []


def test_periods_that_do_not_overlap_do_not_conflict(mem):
    mem.store("a", "Seattle", claim=budget("Seattle", scope="temporal", valid_from=YEAR[1], valid_until=YEAR[4]))
    assert mem.structural_conflicts(budget("Austin", scope="temporal", valid_from=YEAR[5])) == []


def test_periods_that_overlap_conflict_and_touching_is_overlapping(mem):
    seattle = budget("Seattle", scope="temporal", valid_from=YEAR[1], valid_until=YEAR[4])
    mem.store("a", "Seattle", claim=seattle)
    assert mem.structural_conflicts(budget("Austin", scope="temporal", valid_from=YEAR[3]))
    assert mem.structural_conflicts(budget("Austin", scope="temporal", valid_from=YEAR[4]))
    assert validity_overlaps(seattle, budget("Austin"))


def test_a_session_claim_does_not_conflict_with_a_global_one(mem):
    mem.store("a", "User budget is $750", claim=budget("$750"))
    assert mem.structural_conflicts(budget("$900", scope="session", session_id="s1")) == []


def test_the_same_claim_twice_is_one_memory(mem):
    first = mem.store("a", "User budget is $750", claim=budget("$750"))
    mem.now = EPOCH + datetime.timedelta(days=1)
    again = mem.store("b", "Their budget: $750", claim=budget("$750"))
    assert again.deduplicated
    assert again.memory is first.memory
    assert again.memory.provenance.corroboration == 2
    assert again.memory.updated_at == mem.now
    assert len(mem.memories) == 1


def test_store_without_a_claim_checks_nothing(mem):
    mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    stored = mem.store("a", "User budget is $0")
    assert stored.memory.claim is None
    assert stored.memory.status == "active"
    assert (stored.superseded, stored.pending) == ((), ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"subject": ""},
        {"predicate": ""},
        {"subject": "s" * 101},
        {"predicate": "p" * 101},
        {"value": "v" * 1001},
        {"scope": "universal"},
        {"scope": "session"},
    ],
)
def test_claims_are_validated(wrong):
    with pytest.raises(ValueError, match=r"subject|value|scope|session"):
        Claim(**{"subject": "user", "predicate": "budget", "value": "$750", **wrong})


def test_a_claim_is_exclusive_unless_it_says_otherwise():
    assert budget("$750").exclusive


def test_extract_claim_asks_the_model():
    asked = []
    mem = Neolata(extractor=lambda text: asked.append(text) or budget("$750"))
    assert mem.store("a", "User budget is $750", extract_claim=True).memory.claim == budget("$750")
    assert asked == ["User budget is $750"]


def test_without_a_model_nothing_is_extracted(mem):
    assert mem.store("a", "User budget is $750", extract_claim=True).memory.claim is None


def test_the_index_follows_and_can_be_made_anew(mem):
    mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    weak = mem.store("a", "User budget is $0", claim=budget("$0"))
    before = {key: set(ids) for key, ids in mem.index.items()}
    mem.rebuild_indexes()
    assert mem.index == before
    mem.resolve_conflict(weak.pending[0].id, action="reject")
    assert weak.memory.id not in mem.index["user::budget"]


# Feature 2 and prompt 3: provenance, trust, feedback


def test_trust_is_computed_from_the_source(mem):
    assert mem.store("a", "Seattle", source="user_explicit").memory.provenance.trust == 1.0
    assert compute_trust("inference") == 0.5
    assert compute_trust("user_explicit") > compute_trust("inference")


def test_provenance_has_a_default(mem):
    provenance = mem.store("a", "Seattle").memory.provenance
    assert (provenance.source, provenance.corroboration, provenance.trust) == ("inference", 1, 0.5)


def test_an_unknown_source_is_refused(mem):
    with pytest.raises(ValueError, match="unknown source"):
        mem.store("a", "Seattle", source="oracle")


def test_corroboration_adds_up_to_a_fifth():
    assert compute_trust("inference", corroboration=3) == pytest.approx(0.6)
    assert compute_trust("inference", corroboration=100) == pytest.approx(0.7)


def test_age_takes_up_to_a_tenth():
    assert compute_trust("inference", age_days=365) == pytest.approx(0.4)
    assert compute_trust("inference", age_days=3650) == pytest.approx(0.4)


def test_corroborating_three_times_raises_trust(mem):
    memory = mem.store("a", "Seattle").memory
    for _ in range(3):
        mem.corroborate(memory.id)
    assert memory.provenance.corroboration == 4
    assert memory.provenance.trust == pytest.approx(0.65)
    assert memory.confidence == compute_confidence(memory) == 0.65


def test_one_dispute_is_enough_to_bring_a_user_down_to_a_tool(mem):
    memory = mem.store("a", "Seattle", source="user_explicit").memory
    mem.dispute(memory.id)
    assert (memory.disputes, memory.provenance.trust, memory.status) == (1, 0.85, "active")


def test_disputes_below_the_threshold_mark_it(mem):
    memory = mem.store("a", "Seattle").memory
    mem.now = EPOCH + datetime.timedelta(days=365)
    for _ in range(3):
        mem.dispute(memory.id)
    assert memory.provenance.trust == pytest.approx(0.25)
    assert memory.status == "disputed"


def test_reinforcing_counts_and_boosts(mem):
    memory = mem.store("a", "Seattle").memory
    mem.reinforce(memory.id)
    assert memory.reinforcements == 1
    assert memory.importance == pytest.approx(0.8)
    assert memory.confidence == 0.65


def test_votes_balance_out(mem):
    memory = mem.store("a", "Seattle").memory
    mem.dispute(memory.id)
    mem.reinforce(memory.id)
    assert memory.provenance.trust == 0.5


@pytest.mark.parametrize("vote", ["dispute", "corroborate", "reinforce"])
def test_votes_on_nothing_answer_nothing(mem, vote):
    assert getattr(mem, vote)("mem_9") is None


# Feature 3 and prompt 2: trust-gated supersession


def test_more_trust_supersedes(mem):
    old = mem.store("a", "User budget is $750", claim=budget("$750"))
    new = mem.store("a", "User budget is $900", claim=budget("$900"), source="user_explicit")
    assert status(mem, old) == "superseded"
    assert old.memory.superseded_by == new.memory.id
    assert new.superseded == (old.memory.id,)
    assert ("supersede", new.memory.id, old.memory.id) in mem.events


def test_less_trust_waits(mem):
    old = mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    new = mem.store("a", "User budget is $0", claim=budget("$0"), source="document")
    assert (status(mem, old), status(mem, new)) == ("active", "quarantined")
    assert [(c.new_id, c.existing_id) for c in mem.pending_conflicts()] == [(new.memory.id, old.memory.id)]
    assert (new.pending[0].new_trust, new.pending[0].existing_trust) == (0.6, 1.0)
    assert ("conflict:pending", new.memory.id, old.memory.id) in mem.events


def test_at_equal_trust_the_newer_wins_whoever_wrote_it(mem):
    old = mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    mem.store("b", "User budget is $0", claim=budget("$0"), source="user_explicit")
    assert status(mem, old) == "superseded"


def test_each_opponent_is_judged_alone(mem):
    """Not all or nothing: who loses to one still replaces the other."""
    strong = mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    kept = mem.store("a", "User budget is $800", claim=budget("$800"), source="document")
    mem.resolve_conflict(kept.pending[0].id, action="keep_both")
    third = mem.store("b", "User budget is $0", claim=budget("$0"), source="document")
    assert (status(mem, strong), status(mem, kept), status(mem, third)) == ("active", "superseded", "quarantined")


def test_a_stronger_session_claim_replaces_no_global_one(mem):
    old = mem.store("a", "User budget is $750", claim=budget("$750"))
    session = budget("$900", scope="session", session_id="s1")
    mem.store("a", "User budget is $900 today", claim=session, source="user_explicit")
    assert status(mem, old) == "active"


def test_search_answers_active_memories_only(mem):
    mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    mem.store("a", "User budget is $0", claim=budget("$0"))
    old = mem.store("a", "User lives in Oslo", claim=Claim("user", "lives_in", "Oslo"))
    mem.store("a", "User lives in Rome", claim=Claim("user", "lives_in", "Rome"))
    doubted = mem.store("a", "User has a cat")
    doubted.memory.status = "disputed"
    assert {m.text for m in mem.search()} == {"User budget is $750", "User lives in Rome"}
    assert len(mem.search(include_all=True)) == 5
    assert doubted.memory in mem.search(status_filter=["active", "disputed"])
    assert old.memory in mem.search("lives", status_filter=["superseded"])


def test_search_in_a_session_takes_its_claims(mem):
    mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    mem.store("a", "User budget is $900", claim=budget("$900", scope="session", session_id="s1"))
    assert [m.text for m in mem.search()] == ["User budget is $750"]
    assert [m.text for m in mem.search(session_id="s1")] == ["User budget is $900"]
    assert [m.text for m in mem.search(session_id="s2")] == ["User budget is $750"]


@pytest.fixture
def waiting(mem):
    """A conflict: (standing, newcomer, its id)."""
    old = mem.store("a", "User budget is $750", claim=budget("$750"), source="user_explicit")
    new = mem.store("a", "User budget is $0", claim=budget("$0"))
    return old.memory, new.memory, new.pending[0].id


def test_conflicts_are_filtered_by_subject_and_predicate(mem, waiting):
    assert len(mem.conflicts(subject="user", predicate="budget")) == 1
    assert mem.conflicts(subject="ann") == []


def test_resolve_supersede(mem, waiting):
    old, new, conflict = waiting
    mem.resolve_conflict(conflict, action="supersede")
    assert (old.status, old.superseded_by, new.status) == ("superseded", new.id, "active")
    assert mem.pending_conflicts() == []
    assert len(mem.conflicts(include_resolved=True)) == 1


def test_resolve_reject(mem, waiting):
    old, new, conflict = waiting
    mem.resolve_conflict(conflict, action="reject")
    assert old.status == "active"
    assert new.id not in mem.memories
    assert mem.archive[new.id].status == "archived"


def test_resolve_keep_both(mem, waiting):
    old, new, conflict = waiting
    mem.resolve_conflict(conflict, action="keep_both")
    assert (old.status, new.status) == ("active", "active")
    assert mem.pending_conflicts() == []


def test_resolving_twice_or_nothing_is_an_error(mem, waiting):
    mem.resolve_conflict(waiting[2], action="keep_both")
    with pytest.raises(ValueError, match="already resolved"):
        mem.resolve_conflict(waiting[2], action="reject")
    with pytest.raises(LookupError):
        mem.resolve_conflict("con_9", action="reject")
