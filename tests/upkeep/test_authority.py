"""Upkeep honours authority: what is weaker leaves, fades and shrinks before what is stronger."""

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, upkeep
from memories.access import NotPermitted
from memories.models import Fragment
from memories.upkeep.lifecycle.eviction import SPARED, turns
from tests.consolidation.conftest import DAY

BUDGET = ClaimDraft("user", "budget", "$750")
LONG = "My budget is $750. I spend it on herons. They live by the mill. Nobody else knows."


@pytest.fixture
def evil(project, agent_of):
    """A key of the lowest ceiling, and nobody's friend."""
    return agent_of(project, owner="mallory", ceiling="inference")


@pytest.fixture
def owners(principal):
    """How many memories each owner still has."""

    def read(*agents):
        with access.enter(principal, why="test"):
            rows = Fragment.objects.within(principal.project_id)
            return [rows.filter(owner_id=agent.principal.owner_id).count() for agent in agents]

    return read


class TestEviction:
    @pytest.fixture
    def said(self, old, alice):
        """Seven things that the user said, long ago."""
        return [
            old(30, f"The user said this: heron {n}.", by=alice.principal, source="user_explicit") for n in range(7)
        ]

    def test_what_the_user_said_outlasts_whatever_is_weaker(self, said, old, evil, alice, run, capacity, owners):
        for n in range(40):
            old(2, f"Filler number {n}.", by=evil.principal, importance=1.0)
        capacity(all=40)
        report = run("evict").report
        assert (report["evicted"], report["short"]) == (19, 0)
        assert owners(alice, evil) == [7, 21]

    def test_when_only_the_user_is_left_it_says_so_and_writes_succeed(self, said, alice, run, capacity, owners):
        capacity(all=7)
        report = run("evict").report
        assert (report["evicted"], report["short"], report["users_own"]) == (0, 3, 7)
        body = {"namespace": "acme:main", "content": "One more thing."}
        answer = alice.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == 201
        assert owners(alice) == [8]

    def test_lower_ranks_go_first_whatever_they_weigh(self, old, alice, run, capacity, fresh):
        strong = old(60, "A tool said so.", by=alice.principal, source="tool_output", importance=0.1)
        weak = [old(2, f"A guess, {n}.", importance=0.65) for n in range(4)]
        capacity(all=5)
        assert run("evict").report["evicted"] == 2
        assert fresh(strong)
        assert sum(fresh(row) is not None for row in weak) == 2

    def test_what_is_new_does_not_stay_at_the_cost_of_what_is_stronger(self, old, alice, evil, run, capacity, owners):
        for n in range(5):
            old(60, f"A tool said {n}.", by=alice.principal, source="tool_output")
        for n in range(5):
            old(0.1, f"Just in: {n}.", by=evil.principal)
        capacity(all=10)
        assert run("evict").report["evicted"] == 3
        assert owners(alice, evil) == [5, 2]

    def test_an_owner_beyond_its_share_gives_way_first(self, old, alice, bob, run, capacity, owners, settings):
        settings.OWNER_SHARE = 0.5
        for n in range(3):
            old(60, f"A tool said {n}.", by=alice.principal, source="tool_output")
        for n in range(6):
            old(0.1, f"Just in: {n}.", by=bob.principal, source="tool_output", importance=0.9, is_pinned=n < 4)
        capacity(all=10)
        assert run("evict").report["evicted"] == 2
        assert owners(alice, bob) == [3, 4]

    def test_alone_an_owner_has_no_share(self, old, alice, run, capacity, owners):
        for n in range(9):
            old(0.1, f"Just in: {n}.", by=alice.principal, source="tool_output")
        capacity(all=10)
        report = run("evict").report
        assert (report["evicted"], report["short"], owners(alice)) == (0, 2, [9])

    def test_turns_spare_only_what_is_stronger(self):
        counts = [(1, 2, 3), (1, SPARED, 4), (4, 2, 2), (4, SPARED, 5)]
        assert list(turns(counts, 4)) == [(1, 2, 3), (1, SPARED, 1)]
        assert list(turns(counts, 100)) == [(1, 2, 3), (1, SPARED, 2), (4, 2, 2)]


class TestCold:
    @pytest.fixture
    def believed(self, old, alice):
        return old(45, "My budget is $750.", by=alice.principal, source="user_explicit", claims=[BUDGET])

    def test_a_claim_in_force_above_a_document_stays_near(self, believed, old, run, fresh):
        guess = old(45, "The otter is grey.", claims=[ClaimDraft("otter", "colour", "grey")])
        run("tier")
        assert (fresh(believed).tier, fresh(guess).tier) == ("warm", "cold")

    def test_it_comes_back_when_it_was_cold(self, believed, run, change, fresh):
        change(believed, tier="cold")
        assert run("tier").report["moves"] == {"cold_to_warm": 1}
        assert fresh(believed).tier == "warm"

    def test_a_claim_that_ended_gets_cold(self, old, alice, run, fresh):
        claim = ClaimDraft("user", "budget", "$750", valid_until=timezone.now() - DAY)
        row = old(45, "My budget was $750.", by=alice.principal, source="user_explicit", claims=[claim])
        run("tier")
        assert fresh(row).tier == "cold"

    def test_a_full_tier_does_not_hand_it_down(self, believed, old, run, fresh, settings, change):
        other = old(10, "The otter is grey.")
        change([believed, other], tier="warm")
        settings.TIER_GB = {"hot": 10, "warm": 1e-9}
        run("tier")
        assert (fresh(believed).tier, fresh(other).tier) == ("warm", "cold")

    def test_consolidation_leaves_it_near(self, believed, old, run, fresh):
        guess = old(45, "The otter is grey.")
        ended = run("consolidate", namespace=fresh(believed).namespace)
        assert ended.report["decayed"] == 1
        assert (fresh(believed).tier, fresh(believed).status) == ("hot", "active")
        assert fresh(guess).tier == "cold"

    def test_what_the_user_told_does_not_fade_into_the_archive(self, old, alice, run, fresh):
        said = {"type": "episodic", "importance": 0.5}
        row = old(60, "Never book flights before 9.", by=alice.principal, source="user_explicit", **said)
        told = old(60, "The otter sleeps by day.", **said)
        run("consolidate", namespace=fresh(row).namespace)
        assert (fresh(row).status, fresh(told).status) == ("active", "archived")

    def test_its_first_sentences_stay(self, old, alice, run, fresh):
        claim = {"claims": [BUDGET], "importance": 0.5}
        rows = [
            old(200, LONG, by=alice.principal, source="user_explicit", **claim),
            old(200, "Never before 9. Not for me. Nor for you. Or else.", by=alice.principal, source="user_explicit"),
            old(200, "The heron sleeps. It dreams. It wakes. It eats."),
        ]
        run("compact")
        assert [fresh(row).compression for row in rows] == ["summary", "summary", "hash"]
        assert fresh(rows[0]).content == "My budget is $750. I spend it on herons. They live by the mill."

    def test_by_hand_only_its_owner_or_a_person_hides_it(self, believed, alice, agent_of, project, fresh):
        other = agent_of(project, owner="other", ceiling="user_explicit")
        for deed in (
            lambda by: upkeep.lifecycle.move_one(by, believed.id, here="hot", there="cold"),
            lambda by: upkeep.lifecycle.compact_one(by, believed.id, level="keywords", now=timezone.now()),
        ):
            with pytest.raises(NotPermitted, match="believed"):
                deed(other.principal)
        assert (fresh(believed).tier, fresh(believed).compression) == ("hot", "full")
        assert upkeep.lifecycle.move_one(alice.principal, believed.id, here="hot", there="cold").tier == "cold"
