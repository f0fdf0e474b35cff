"""Decisions that are taken back, and values that were rejected."""

import pytest

from tests.api.resolution.conftest import ACTIONS, ONE_OR_OTHER, listed, read, resolve, statuses, undo

pytestmark = pytest.mark.examples

EVERY_ACTION = pytest.mark.parametrize("wish", ACTIONS, ids=lambda wish: " ".join(wish.values()))


class TestTakingBack:
    """Undo restores the exact former state, or says why it can't."""

    @EVERY_ACTION
    def test_undo_restores_exactly(self, carol, waiting, see, wish):
        before = see()
        settled = resolve(carol, waiting["id"], note="x", **wish)
        assert see() != before
        row = undo(carol, waiting["id"])
        assert (row["status"], row["id"]) == ("pending", waiting["id"])
        assert row["revision"] > settled["revision"]
        assert see() == before

    @EVERY_ACTION
    def test_undo_of_siblings_restores_exactly(self, carol, waiting, store_tool_claim, see, wish):
        resolve(carol, waiting["id"], action="keep_both")
        one, other = (pending["id"] for pending in store_tool_claim("$7")["pending_conflicts"])
        before = see()
        resolve(carol, one, **wish)
        undo(carol, other)
        assert see() == before
        assert set(listed(carol)) == {one, other}

    @EVERY_ACTION
    def test_undo_restores_periods_and_what_they_opposed(self, carol, store_claim, store_tool_claim, see, wish):
        store_claim("$750", scope="temporal", valid_from="2019-01-01T00:00:00Z")
        (pending,) = store_tool_claim("$0", scope="temporal", valid_from="2022-01-01T00:00:00Z")["pending_conflicts"]
        store_tool_claim("$1", content="Another waits too.")
        before = see()
        resolve(carol, pending["id"], **wish)
        undo(carol, pending["id"])
        assert see() == before

    @ONE_OR_OTHER
    def test_it_can_be_decided_anew(self, carol, waiting, see, wish):
        resolve(carol, waiting["id"], action="supersede")
        undo(carol, waiting["id"])
        resolve(carol, waiting["id"], **wish)
        assert read(carol, waiting["id"])["resolution"] == wish["action"]

    @ONE_OR_OTHER
    def test_undo_twice(self, carol, waiting, see, wish):
        resolve(carol, waiting["id"], **wish)
        undo(carol, waiting["id"])
        before = see()
        assert undo(carol, waiting["id"], status=409)["code"] == "cannot_undo"
        assert see() == before

    def test_undo_of_what_nobody_decided(self, carol, waiting, store_claim, see):
        assert undo(carol, waiting["id"], status=409)["code"] == "cannot_undo"
        store_claim("$0")
        assert read(carol, waiting["id"])["resolution"] == "obsolete"
        before = see()
        assert undo(carol, waiting["id"], status=409)["code"] == "cannot_undo"
        assert see() == before

    def test_undo_after_a_third_value_took_the_place(self, carol, waiting, store_claim, see):
        resolve(carol, waiting["id"], action="supersede")
        store_claim("$900", by=carol)  # who decided may change what was decided
        before = see()
        problem = undo(carol, waiting["id"], status=409)
        assert (problem["code"], bool(problem["detail"])) == ("cannot_undo", True)
        assert see() == before

    def test_undo_while_the_users_later_words_stand_beside_lets_these_stand_alone(self, carol, waiting, store_claim):
        resolve(carol, waiting["id"], action="supersede")
        later = store_claim("$900")["id"]
        undo(carol, waiting["id"])
        sides = waiting["standing"], waiting["newcomer"], later
        assert statuses(carol, *sides) == ["superseded", "quarantined", "active"]
        pairs = {(read(carol, i)["new_id"], read(carol, i)["existing_id"]) for i in listed(carol)}
        assert pairs == {(waiting["newcomer"], later)}

    @pytest.mark.parametrize(
        ("action", "side"), [("supersede", "standing"), ("supersede", "newcomer"), ("reject", "newcomer")]
    )
    def test_undo_after_one_was_forgotten(self, carol, waiting, alice, see, action, side):
        resolve(carol, waiting["id"], action=action)
        assert alice.client.delete(f"/api/v1/fragments/{waiting[side]}").status_code == 204
        before = see()
        assert undo(carol, waiting["id"], status=409)["code"] == "cannot_undo"
        assert see() == before

    def test_undo_after_the_newcomer_was_archived(self, carol, waiting, bob, see):
        resolve(carol, waiting["id"], action="supersede")
        # Its writer may not put away what a person chose.
        assert bob.client.post(f"/api/v1/fragments/{waiting['newcomer']}/archive").status_code == 403
        assert carol.client.post(f"/api/v1/fragments/{waiting['newcomer']}/archive").status_code == 200
        before = see()
        problem = undo(carol, waiting["id"], status=409)
        assert problem["code"] == "cannot_undo"
        assert [error["message"] for error in problem["errors"]] == [waiting["newcomer"]]
        assert see() == before

    def test_undo_of_many_values_while_a_third_stands(self, carol, waiting, store_tool_claim, see):
        resolve(carol, waiting["id"], action="keep_both", keep="predicate")
        third = store_tool_claim("$7")["id"]
        before = see()
        problem = undo(carol, waiting["id"], status=409)
        assert problem["code"] == "cannot_undo"
        assert third in problem["detail"]
        assert "archive or forget" in problem["detail"]
        assert [error["message"] for error in problem["errors"]] == [third]
        assert see() == before
        assert carol.client.post(f"/api/v1/fragments/{third}/archive").status_code == 200
        assert undo(carol, waiting["id"])["status"] == "pending"
        assert [see()["fragments"][waiting[side]]["status"] for side in ("standing", "newcomer")] == [
            "active",
            "quarantined",
        ]

    def test_undo_after_the_rule_was_changed(self, carol, waiting, see):
        resolve(carol, waiting["id"], action="keep_both", keep="predicate")
        change = {"namespace": "acme:main", "name": "budget", "newer_wins": True}
        assert carol.client.patch("/api/v1/predicates", change, format="json").status_code == 200
        before = see()
        problem = undo(carol, waiting["id"], status=409)
        assert problem["code"] == "cannot_undo"
        assert "change that rule" in problem["detail"]
        assert see() == before


class TestRejectedValues:
    """What a person rejected comes back archived."""

    def test_in_the_same_and_in_another_spelling(self, carol, waiting, store_tool_claim):
        resolve(carol, waiting["id"], action="reject")
        for value in ("$0", "0 USD", "\uff040", "USD 0.00"):
            again = store_tool_claim(value, content=f"Truly {value}.")
            assert (again["status"], again["pending_conflicts"]) == ("archived", [])
        again = store_tool_claim("$0", content="By another name.", claim={"subject": "USER", "predicate": "Has-Budget"})
        assert again["status"] == "archived"

    def test_also_from_others_of_no_more_authority(self, carol, waiting, store_claim, project, agent_of):
        resolve(carol, waiting["id"], action="reject")
        dave = agent_of(project, owner="dave")
        assert store_claim("$0", by=dave, source="tool_output", content="I too.")["status"] == "archived"

    def test_after_the_rejected_memory_was_deleted(self, carol, bob, waiting, store_tool_claim):
        resolve(carol, waiting["id"], action="reject")
        assert bob.client.delete(f"/api/v1/fragments/{waiting['newcomer']}").status_code == 204
        assert store_tool_claim("$0", content="In other words, nothing.")["status"] == "archived"

    def test_unless_the_user_says_so(self, carol, waiting, store_claim):
        resolve(carol, waiting["id"], action="reject")
        system = store_claim("$0", by=carol, source="system", content="The system says so.")
        assert system["status"] == "archived"
        user = store_claim("$0", content="The user says so.")
        assert (user["status"], user["superseded"]) == ("active", [waiting["standing"]])

    def test_another_value_still_waits(self, carol, waiting, store_tool_claim):
        resolve(carol, waiting["id"], action="reject")
        assert store_tool_claim("$1")["status"] == "quarantined"

    def test_once_taken_back_it_is_not_rejected_any_more(self, carol, waiting, store_tool_claim):
        resolve(carol, waiting["id"], action="reject")
        undo(carol, waiting["id"])
        assert store_tool_claim("$0", status=200)["id"] == waiting["newcomer"]

    def test_waiting_twice_is_one_conflict(self, carol, waiting, store_tool_claim):
        again = store_tool_claim("0 USD", content="Again.", status=200)
        assert (again["id"], again["deduplicated"]) == (waiting["newcomer"], True)
        assert [pending["id"] for pending in again["pending_conflicts"]] == [waiting["id"]]
        assert listed(carol) == [waiting["id"]]
