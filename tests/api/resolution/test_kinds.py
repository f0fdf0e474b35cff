"""Disputes, free texts and moves: conflicts of every kind."""

import pytest

from tests.api.resolution.conftest import ACTIONS, listed, read, resolve, statuses, undo


class TestDisputes:
    """A weaker owner's doubt opens a review."""

    @pytest.fixture
    def review(self, store_claim, bob):
        """Bob doubts what the user said."""
        said = store_claim("$750")
        answer = bob.client.post(f"/api/v1/fragments/{said['id']}/dispute", {"reason": "No."}, format="json").json()
        assert (answer["counted"], answer["status"]) == (False, "active")
        return {"id": answer["conflict_id"], "fragment": said["id"]}

    def test_it_has_one_side(self, carol, review):
        row = read(carol, review["id"])
        assert (row["kind"], row["new_id"], row["newcomer"], row["new_claim"]) == ("dispute", None, None, None)
        assert (row["existing_id"], row["new_authority"], row["existing_authority"]) == (review["fragment"], 4, 6)
        assert listed(carol, kind="dispute", subject="User", predicate="has_budget") == [review["id"]]

    @pytest.mark.parametrize(("action", "status"), [("supersede", "disputed"), ("reject", "active")])
    def test_it_is_taken_over_or_dismissed(self, carol, review, see, action, status):
        before = see()
        resolve(carol, review["id"], action=action)
        assert statuses(carol, review["fragment"]) == [status]
        undo(carol, review["id"])
        assert see() == before

    def test_both_can_not_be_kept(self, carol, review, see):
        before = see()
        for wish in ({"action": "keep_both"}, {"action": "reject", "protect": True}):
            assert resolve(carol, review["id"], status=409, **wish)["code"] == "not_applicable"
        assert see() == before

    def test_whoever_doubts_does_not_settle_it(self, review, project, agent_of):
        """The doubt is what its owner wrote."""
        bobs = agent_of(project, owner="bob", verbs=["read", "review"])
        assert resolve(bobs, review["id"], status=403, action="supersede")["code"] == "not_permitted"

    def test_it_ends_when_the_memory_is_replaced(self, carol, review, store_claim):
        store_claim("$900")
        assert read(carol, review["id"])["resolution"] == "obsolete"


class TestFreeText:
    """A text that contradicts what stands."""

    @pytest.fixture
    def shadow(self, store_claim, store_tool_claim):
        """Bob's text waits before Alice's claim."""
        standing = store_claim("$750")
        newcomer = store_tool_claim("", claim=None, content="The user's budget is $0.")
        assert newcomer["status"] == "quarantined"
        return {
            "standing": standing["id"],
            "newcomer": newcomer["id"],
            "id": newcomer["pending_conflicts"][0]["id"],
        }

    def test_it_says_what_it_was_read_as(self, carol, shadow):
        row = read(carol, shadow["id"])
        assert (row["kind"], row["reason"], row["new_claim"]) == ("text", "free_text", None)
        said = {"subject": "user", "predicate": "budget", "value": "$0", "negated": False}
        assert row["statement"] == said
        assert listed(carol, kind="text", subject="user", predicate="budget_is") == [shadow["id"]]

    @pytest.mark.parametrize(
        ("wish", "expected"),
        [
            (ACTIONS[0], ["superseded", "active"]),
            (ACTIONS[1], ["active", "archived"]),
            (ACTIONS[2], ["active", "active"]),
        ],
    )
    def test_it_is_settled_and_taken_back(self, carol, shadow, see, wish, expected):
        before = see()
        resolve(carol, shadow["id"], **wish)
        assert statuses(carol, shadow["standing"], shadow["newcomer"]) == expected
        undo(carol, shadow["id"])
        assert see() == before

    @pytest.mark.parametrize("keep", ["period", "predicate"])
    def test_a_text_has_neither_period_nor_predicate(self, carol, shadow, see, keep):
        before = see()
        problem = resolve(carol, shadow["id"], status=409, action="keep_both", keep=keep)
        assert problem["code"] == "not_applicable"
        assert see() == before

    def test_rejected_it_comes_back_archived(self, carol, shadow, store_tool_claim):
        resolve(carol, shadow["id"], action="reject")
        again = store_tool_claim("", claim=None, content="The user's budget is 0 USD, as was said.")
        assert again["status"] == "archived"

    def test_forgotten_its_words_are_gone(self, carol, bob, shadow):
        resolve(carol, shadow["id"], action="reject", note="Bob made it up.")
        assert bob.client.delete(f"/api/v1/fragments/{shadow['newcomer']}").status_code == 204
        row = read(carol, shadow["id"])
        assert (row["statement"], row["note"], row["new_id"]) == (None, "", None)


class TestMoving:
    """Conflicts follow what stands."""

    def test_to_whatever_replaces_the_standing_value(self, carol, waiting, store_claim):
        second = store_claim("$900")
        row = read(carol, waiting["id"])
        assert (row["status"], row["existing_id"], row["existing_claim"]["value"]) == (
            *("pending", second["id"]),
            "$900",
        )
        assert row["revision"] == 2

    def test_a_text_too(self, carol, store_claim, store_tool_claim):
        store_claim("$750")
        (pending,) = store_tool_claim("", claim=None, content="The user's budget is $0.")["pending_conflicts"]
        second = store_claim("$900")
        assert (read(carol, pending["id"])["existing_id"], read(carol, pending["id"])["revision"]) == (second["id"], 2)

    def test_obsolete_when_somebody_stronger_says_the_same(self, carol, waiting, store_claim):
        same = store_claim("$0", content="The user says it is nothing.")
        row = read(carol, waiting["id"])
        assert (row["status"], row["resolution"], row["resolved_by"]) == ("resolved", "obsolete", None)
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["superseded", "superseded"]
        newcomer = carol.client.get(f"/api/v1/fragments/{waiting['newcomer']}").json()
        assert newcomer["superseded_by"] == same["id"]

    def test_undo_of_a_supersession_brings_the_moved_ones_back(self, carol, waiting, store_tool_claim, see):
        other = store_tool_claim("$1")
        (moving,) = other["pending_conflicts"]
        before = see()
        resolve(carol, waiting["id"], action="supersede")
        assert read(carol, moving["id"])["existing_id"] == waiting["newcomer"]
        undo(carol, waiting["id"])
        assert see() == before
