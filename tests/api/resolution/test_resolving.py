"""Conflicts in the API: read, resolved, refused."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.api.resolution.conftest import ACTIONS, ONE_OR_OTHER, URL, listed, read, resolve, statuses, undo


class TestReading:
    """The list and the detail."""

    def test_detail_carries_both_sides(self, carol, waiting, alice, bob):
        row = read(carol, waiting["id"])
        assert (row["status"], row["kind"], row["reason"], row["revision"]) == (
            *("pending", "claim", "authority_insufficient"),
            1,
        )
        assert (row["new_id"], row["existing_id"]) == (waiting["newcomer"], waiting["standing"])
        assert (row["new_claim"]["value"], row["existing_claim"]["value"]) == ("$0", "$750")
        assert (row["new_authority"], row["existing_authority"]) == (4, 6)
        assert (row["new_trust"], row["existing_trust"]) == pytest.approx((0.85, 1.0))
        assert row["newcomer"]["owner"] == str(bob.principal.owner_id)
        assert row["existing"]["owner"] == str(alice.principal.owner_id)
        assert (row["resolved_at"], row["resolution"], row["resolved_by"], row["note"]) == (None, None, None, "")

    def test_filters_know_any_spelling(self, carol, waiting):
        for subject, predicate in (
            ("user", "budget_is"),
            ("USER", "Budget-Is"),
            ("\uff55\uff53\uff45\uff52", "has budget"),
            ("u\u200bser", "BUDGET"),
        ):
            assert listed(carol, subject=subject) == listed(carol, predicate=predicate) == [waiting["id"]]
            whole = {"subject": subject, "predicate": predicate, "kind": "claim", "namespace": "acme:main"}
            assert listed(carol, **whole) == [waiting["id"]]

    def test_filters_leave_out_the_rest(self, carol, waiting):
        for query in ({"subject": "team"}, {"predicate": "deadline"}, {"kind": "dispute"}, {"status": "resolved"}):
            assert listed(carol, **query) == []
        resolve(carol, waiting["id"], action="reject")
        assert listed(carol) == []
        assert listed(carol, status="resolved") == listed(carol, status="all") == [waiting["id"]]

    def test_bad_filters_are_named(self, carol):
        for query in ({"status": "open"}, {"kind": "x"}, {"limit": 0}, {"cursor": "x"}, {"owner": "me"}):
            answer = carol.client.get(URL, query)
            assert (answer.status_code, answer.json()["code"]) == (400, "validation")
            assert [error["field"] for error in answer.json()["errors"]] == list(query)

    def test_pages_hold_every_row_once(self, carol, waiting, store_tool_claim):
        store_tool_claim("$1")
        store_tool_claim("$2")
        whole, first = listed(carol), carol.client.get(URL, {"limit": 2}).json()
        second = carol.client.get(first["next"]).json()
        assert [row["id"] for row in first["results"] + second["results"]] == whole
        assert len(whole) == 3
        assert second["next"] is None

    def test_foreign_and_missing_look_the_same(self, charlie, carol, waiting):
        wish = {"action": "reject", "revision": 1}
        for agent, conflict in ((charlie, waiting["id"]), (carol, uuid.uuid4())):
            for answer in (
                agent.client.get(f"{URL}/{conflict}"),
                agent.client.post(f"{URL}/{conflict}/resolve", wish, format="json"),
                agent.client.post(f"{URL}/{conflict}/undo", {}, format="json"),
            ):
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        assert listed(charlie, status="all") == []
        assert read(carol, waiting["id"])["revision"] == 1

    def test_queries_do_not_grow_with_rows(self, carol, waiting, store_tool_claim, django_assert_max_num_queries):
        listed(carol)
        with CaptureQueriesContext(connection) as captured:
            assert len(listed(carol)) == 1
        few = len(captured)
        for n in range(1, 8):
            store_tool_claim(f"${n}")
        with django_assert_max_num_queries(few):
            assert len(listed(carol)) == 8


class TestResolving:
    """What each action does."""

    def test_supersede(self, carol, waiting):
        row = resolve(carol, waiting["id"], action="supersede", note="She said so.")
        assert (row["status"], row["resolution"], row["keep"], row["note"]) == (
            *("resolved", "supersede", None),
            "She said so.",
        )
        assert (row["resolved_by"], row["revision"]) == (str(carol.principal.owner_id), 2)
        assert row["resolved_at"]
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["superseded", "active"]
        old = carol.client.get(f"/api/v1/fragments/{waiting['standing']}").json()
        assert old["superseded_by"] == waiting["newcomer"]

    def test_supersede_raises_no_authority_but_holds(self, carol, waiting, store_claim):
        resolve(carol, waiting["id"], action="supersede")
        assert carol.client.get(f"/api/v1/fragments/{waiting['newcomer']}").json()["provenance"]["authority"] == 4
        assert store_claim("$751")["superseded"] == []
        assert statuses(carol, waiting["newcomer"]) == ["active"]

    def test_reject(self, carol, waiting):
        assert resolve(carol, waiting["id"], action="reject")["resolution"] == "reject"
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "archived"]

    @pytest.mark.parametrize("keep", [None, "pair"])
    def test_a_pair_goes_on_opposing_third_values(self, carol, waiting, store_tool_claim, keep):
        row = resolve(carol, waiting["id"], action="keep_both", **({"keep": keep} if keep else {}))
        assert (row["resolution"], row["keep"]) == ("keep_both", "pair")
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "active"]
        third = store_tool_claim("$7")
        assert third["status"] == "quarantined"
        assert {pending["existing_id"] for pending in third["pending_conflicts"]} == {
            waiting["standing"],
            waiting["newcomer"],
        }

    def test_either_value_of_a_pair_is_a_duplicate(self, carol, waiting, store_claim, store_tool_claim):
        resolve(carol, waiting["id"], action="keep_both")
        assert store_tool_claim("0 USD", status=200)["id"] == waiting["newcomer"]
        assert store_tool_claim("750 USD", status=200)["id"] == waiting["standing"]

    def test_periods_follow_each_other(self, carol, waiting):
        resolve(carol, waiting["id"], action="keep_both", keep="period")
        row = read(carol, waiting["id"])
        assert row["existing_claim"]["valid_until"] == row["new_claim"]["valid_from"] == row["newcomer"]["created_at"]
        assert row["new_claim"]["valid_until"] is row["existing_claim"]["valid_from"] is None
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "active"]

    def test_periods_that_begin_alike_can_not_be_split(self, carol, store_claim, store_tool_claim, see):
        since = "2999-01-01T00:00:00Z"
        store_claim("$750", valid_from=since)
        (pending,) = store_tool_claim("$0", valid_from=since)["pending_conflicts"]
        before = see()
        problem = resolve(carol, pending["id"], status=409, action="keep_both", keep="period")
        assert problem["code"] == "cannot_split"
        assert see() == before

    def test_the_predicate_takes_many_values(self, carol, waiting, store_tool_claim):
        resolve(carol, waiting["id"], action="keep_both", keep="predicate")
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "active"]
        third = store_tool_claim("$7")
        assert (third["status"], third["claim"]["exclusive"]) == ("active", False)

    def test_others_who_wait_on_the_key_are_settled_at_once(self, carol, waiting, store_tool_claim, see):
        third = store_tool_claim("$7")
        before = see()
        resolve(carol, waiting["id"], action="keep_both", keep="predicate")
        ids = waiting["standing"], waiting["newcomer"], third["id"]
        assert statuses(carol, *ids) == ["active", "active", "active"]
        assert listed(carol) == []
        (other,) = third["pending_conflicts"]
        assert read(carol, other["id"])["resolution"] == "keep_both"
        undo(carol, waiting["id"])
        assert statuses(carol, *ids) == ["active", "quarantined", "quarantined"]
        assert see() == before

    def test_a_very_long_predicate_can_take_many_values(self, carol, store_claim, store_tool_claim):
        claim = {"subject": "user", "predicate": "\ufdfa" * 100}
        store_claim("one", claim=claim)
        (pending,) = store_tool_claim("two", claim=claim)["pending_conflicts"]
        resolve(carol, pending["id"], action="keep_both", keep="predicate")
        assert store_tool_claim("three", claim=claim)["status"] == "active"

    @pytest.mark.parametrize("wish", ACTIONS[:3], ids=lambda wish: wish["action"])
    def test_siblings_are_settled_together(self, carol, waiting, store_tool_claim, wish):
        resolve(carol, waiting["id"], action="keep_both")
        third = store_tool_claim("$7")
        one, other = (pending["id"] for pending in third["pending_conflicts"])
        resolve(carol, one, **wish)
        assert read(carol, other)["resolution"] == wish["action"]
        assert listed(carol) == []
        expected = {
            "supersede": ["superseded", "superseded", "active"],
            "reject": ["active", "active", "archived"],
            "keep_both": ["active"] * 3,
        }
        assert statuses(carol, waiting["standing"], waiting["newcomer"], third["id"]) == expected[wish["action"]]
        problem = resolve(carol, other, status=409, action="reject")
        assert problem["code"] == "already_resolved"


class TestRefusing:
    """Who may not, and when not; nothing changes then."""

    def test_a_stale_revision(self, carol, waiting, store_claim, see):
        store_claim("$900")
        before = see()
        problem = resolve(carol, waiting["id"], status=409, revision=1, action="supersede")
        assert problem["code"] == "stale_revision"
        assert see() == before

    @ONE_OR_OTHER
    def test_resolved_twice(self, carol, waiting, see, wish):
        row = resolve(carol, waiting["id"], **wish)
        before = see()
        for revision in (1, row["revision"]):
            problem = resolve(carol, waiting["id"], status=409, revision=revision, action="reject")
            assert problem["code"] == "already_resolved"
        assert see() == before

    def test_a_key_can_not_settle_what_its_owner_wrote(self, alice, project, agent_of, waiting, see):
        before = see()
        bobs = agent_of(project, owner="bob", verbs=["read", "review"])
        for agent in (alice, bobs):
            assert resolve(agent, waiting["id"], status=403, action="supersede")["code"] == "not_permitted"
        assert see() == before

    def test_a_key_can_not_take_back_what_concerns_its_owner(self, alice, carol, project, agent_of, waiting, see):
        resolve(carol, waiting["id"], action="reject")
        before = see()
        for agent in (alice, agent_of(project, owner="bob", verbs=["read", "review"])):
            assert undo(agent, waiting["id"], status=403)["code"] == "not_permitted"
        assert see() == before

    def test_a_key_can_not_settle_a_sibling_of_what_its_owner_wrote(
        self, carol, store_claim, store_tool_claim, project, agent_of, see
    ):
        """The decision on one conflict concerns them all."""
        store_claim("$750")
        second = store_tool_claim("$0")
        resolve(carol, second["pending_conflicts"][0]["id"], action="keep_both")
        dave = agent_of(project, owner="dave", ceiling="document")
        third = store_claim("$7", by=dave, source="document")
        before = see()
        reviewing = agent_of(project, owner="bob", verbs=["read", "review"])
        for pending in third["pending_conflicts"]:
            assert resolve(reviewing, pending["id"], status=403, action="supersede")["code"] == "not_permitted"
        assert see() == before

    def test_without_review(self, bob, reader, project, agent_of, waiting, see):
        before = see()
        admin = agent_of(project, owner="dave", verbs=["read", "write", "admin"])
        for agent in (bob, reader, admin):
            assert resolve(agent, waiting["id"], status=403, action="supersede")["code"] == "not_permitted"
            assert undo(agent, waiting["id"], status=403)["code"] == "not_permitted"
        assert see() == before

    def test_a_key_that_does_not_cover_the_namespace(self, project, agent_of, waiting):
        elsewhere = agent_of(project, owner="dave", namespaces=["acme:other"], verbs=["read", "review"])
        assert listed(elsewhere) == []
        assert resolve(elsewhere, waiting["id"], status=404, action="reject")["code"] == "not_found"

    def test_bad_decisions_are_named(self, carol, waiting, see):
        before = see()
        for wish, field in (
            ({"action": "merge"}, "action"),
            ({"action": None}, "action"),
            ({"revision": 0, "action": "reject"}, "revision"),
            ({"revision": "1", "action": "reject"}, "revision"),
            ({"revision": True, "action": "reject"}, "revision"),
            ({"action": "keep_both", "keep": "all"}, "keep"),
            ({"action": "reject", "keep": "pair"}, "keep"),
            ({"action": "reject", "note": "x" * 1001}, "note"),
            ({"action": "reject", "why": "x"}, "why"),
        ):
            answer = carol.client.post(f"{URL}/{waiting['id']}/resolve", {"revision": 1, **wish}, format="json")
            assert (answer.status_code, answer.json()["code"]) == (400, "validation")
            assert [error["field"] for error in answer.json()["errors"]] == [field]
        assert see() == before

    def test_revision_and_action_are_required(self, carol, waiting):
        for body, field in (({"action": "reject"}, "revision"), ({"revision": 1}, "action")):
            answer = carol.client.post(f"{URL}/{waiting['id']}/resolve", body, format="json")
            assert [error["field"] for error in answer.json()["errors"]] == [field]

    def test_one_idempotency_key_has_one_effect(self, carol, waiting):
        wish, key = {"action": "reject", "revision": 1}, {"Idempotency-Key": "k"}
        path = f"{URL}/{waiting['id']}/resolve"
        first, second = (carol.client.post(path, wish, format="json", headers=key) for _ in range(2))
        assert first.status_code == second.status_code == 200
        assert first.json() == second.json()
