"""Conflicts over HTTP: listed, settled once, taken back exactly (docs/spec.md §4, conflicts)."""

import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

URL = "/api/v1/conflicts"
CLAIM = {"subject": "user", "predicate": "budget_is"}
ACTIONS = [
    {"action": "supersede"},
    {"action": "reject"},
    {"action": "keep_both", "keep": "pair"},
    {"action": "keep_both", "keep": "period"},
    {"action": "keep_both", "keep": "predicate"},
]
ONE_OR_OTHER = pytest.mark.parametrize("wish", ACTIONS[:2], ids=lambda wish: wish["action"])
EVERY_ACTION = pytest.mark.parametrize("wish", ACTIONS, ids=lambda wish: " ".join(wish.values()))


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing; allowed everything else."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def say(alice):
    """Stores a claim, by default as Alice's user says it; a text when `claim` is None."""

    def post(value, *, by=alice, source="user_explicit", status=201, content=None, claim=CLAIM, **more):
        body = {"namespace": "acme:main", "content": content or f"It is {value}."}
        body |= {"claim": {**claim, "value": value, **more}} if claim else more
        body["provenance"] = {"source": source}
        answer = by.client.post("/api/v1/fragments", body, format="json")
        assert answer.status_code == status, answer.json()
        return answer.json()

    return post


@pytest.fixture
def tell(say, bob):
    """What Bob's tool says."""
    return lambda value, **more: say(value, by=bob, source="tool_output", **more)


@pytest.fixture
def waiting(say, tell):
    """Bob's $0 waits before Alice's $750."""
    standing, newcomer = say("$750"), tell("$0")
    return {"standing": standing["id"], "newcomer": newcomer["id"], "id": newcomer["pending_conflicts"][0]["id"]}


@pytest.fixture
def see(alice):
    """Everything that settling may change, without what runs with the clock, revisions, and what became obsolete."""
    # Among them when a row was changed last and how often: taking back is a change.
    moving = {"updated_at", "revision", "relevance_score", "effective_weight", "trust", "confidence"}

    def look(**more):
        rows = alice.client.get("/api/v1/fragments", {"status": "all", "limit": 200}).json()["results"]
        conflicts = alice.client.get(URL, {"status": "all"}).json()["results"]
        rules = alice.client.get("/api/v1/predicates").json()["results"]
        return {
            "fragments": {
                row["id"]: {name: value for name, value in row.items() if name not in moving | {"provenance"}}
                for row in rows
            },
            "conflicts": {
                row["id"]: {
                    name: value
                    for name, value in row.items()
                    if name not in ("revision", "existing_trust", "new_trust")
                }
                for row in conflicts
                if row["resolution"] != "obsolete"
            },
            "predicates": [{name: rule[name] for name in ("name", "cardinality", "aliases")} for rule in rules],
        }

    return look


def read(agent, conflict_id):
    answer = agent.client.get(f"{URL}/{conflict_id}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def resolve(agent, conflict_id, *, status=200, revision=None, **wish):
    """Settles a conflict on the revision that it has now, unless another is given."""
    revision = revision or (read(agent, conflict_id)["revision"] if status != 404 else 1)
    answer = agent.client.post(f"{URL}/{conflict_id}/resolve", {"revision": revision, **wish}, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def undo(agent, conflict_id, *, status=200):
    answer = agent.client.post(f"{URL}/{conflict_id}/undo", {}, format="json")
    assert answer.status_code == status, answer.json()
    return answer.json()


def listed(agent, **query):
    answer = agent.client.get(URL, query)
    assert answer.status_code == 200, answer.json()
    return [row["id"] for row in answer.json()["results"]]


def statuses(agent, *ids):
    return [agent.client.get(f"/api/v1/fragments/{i}").json()["status"] for i in ids]


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

    def test_pages_hold_every_row_once(self, carol, waiting, tell):
        tell("$1")
        tell("$2")
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

    def test_queries_do_not_grow_with_rows(self, carol, waiting, tell, django_assert_max_num_queries):
        listed(carol)
        with CaptureQueriesContext(connection) as captured:
            assert len(listed(carol)) == 1
        few = len(captured)
        for n in range(1, 8):
            tell(f"${n}")
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

    def test_supersede_raises_no_authority_but_holds(self, carol, waiting, say):
        resolve(carol, waiting["id"], action="supersede")
        assert carol.client.get(f"/api/v1/fragments/{waiting['newcomer']}").json()["provenance"]["authority"] == 4
        assert say("$751")["superseded"] == []
        assert statuses(carol, waiting["newcomer"]) == ["active"]

    def test_reject(self, carol, waiting):
        assert resolve(carol, waiting["id"], action="reject")["resolution"] == "reject"
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "archived"]

    @pytest.mark.parametrize("keep", [None, "pair"])
    def test_a_pair_goes_on_opposing_third_values(self, carol, waiting, tell, keep):
        row = resolve(carol, waiting["id"], action="keep_both", **({"keep": keep} if keep else {}))
        assert (row["resolution"], row["keep"]) == ("keep_both", "pair")
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "active"]
        third = tell("$7")
        assert third["status"] == "quarantined"
        assert {pending["existing_id"] for pending in third["pending_conflicts"]} == {
            waiting["standing"],
            waiting["newcomer"],
        }

    def test_either_value_of_a_pair_is_a_duplicate(self, carol, waiting, say, tell):
        resolve(carol, waiting["id"], action="keep_both")
        assert tell("0 USD", status=200)["id"] == waiting["newcomer"]
        assert tell("750 USD", status=200)["id"] == waiting["standing"]

    def test_periods_follow_each_other(self, carol, waiting):
        resolve(carol, waiting["id"], action="keep_both", keep="period")
        row = read(carol, waiting["id"])
        assert row["existing_claim"]["valid_until"] == row["new_claim"]["valid_from"] == row["newcomer"]["created_at"]
        assert row["new_claim"]["valid_until"] is row["existing_claim"]["valid_from"] is None
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "active"]

    def test_periods_that_begin_alike_can_not_be_split(self, carol, say, tell, see):
        since = "2999-01-01T00:00:00Z"
        say("$750", valid_from=since)
        (pending,) = tell("$0", valid_from=since)["pending_conflicts"]
        before = see()
        problem = resolve(carol, pending["id"], status=409, action="keep_both", keep="period")
        assert problem["code"] == "cannot_split"
        assert see() == before

    def test_the_predicate_takes_many_values(self, carol, waiting, tell):
        resolve(carol, waiting["id"], action="keep_both", keep="predicate")
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["active", "active"]
        third = tell("$7")
        assert (third["status"], third["claim"]["exclusive"]) == ("active", False)

    def test_others_who_wait_on_the_key_are_settled_at_once(self, carol, waiting, tell, see):
        third = tell("$7")
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

    def test_a_very_long_predicate_can_take_many_values(self, carol, say, tell):
        claim = {"subject": "user", "predicate": "\ufdfa" * 100}
        say("one", claim=claim)
        (pending,) = tell("two", claim=claim)["pending_conflicts"]
        resolve(carol, pending["id"], action="keep_both", keep="predicate")
        assert tell("three", claim=claim)["status"] == "active"

    @pytest.mark.parametrize("wish", ACTIONS[:3], ids=lambda wish: wish["action"])
    def test_siblings_are_settled_together(self, carol, waiting, tell, wish):
        resolve(carol, waiting["id"], action="keep_both")
        third = tell("$7")
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

    def test_a_stale_revision(self, carol, waiting, say, see):
        say("$900")
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

    def test_a_key_can_not_settle_a_sibling_of_what_its_owner_wrote(self, carol, say, tell, project, agent_of, see):
        """The decision on one conflict concerns them all."""
        say("$750")
        second = tell("$0")
        resolve(carol, second["pending_conflicts"][0]["id"], action="keep_both")
        dave = agent_of(project, owner="dave", ceiling="document")
        third = say("$7", by=dave, source="document")
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
    def test_undo_of_siblings_restores_exactly(self, carol, waiting, tell, see, wish):
        resolve(carol, waiting["id"], action="keep_both")
        one, other = (pending["id"] for pending in tell("$7")["pending_conflicts"])
        before = see()
        resolve(carol, one, **wish)
        undo(carol, other)
        assert see() == before
        assert set(listed(carol)) == {one, other}

    @EVERY_ACTION
    def test_undo_restores_periods_and_what_they_opposed(self, carol, say, tell, see, wish):
        say("$750", scope="temporal", valid_from="2019-01-01T00:00:00Z")
        (pending,) = tell("$0", scope="temporal", valid_from="2022-01-01T00:00:00Z")["pending_conflicts"]
        tell("$1", content="Another waits too.")
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

    def test_undo_of_what_nobody_decided(self, carol, waiting, say, see):
        assert undo(carol, waiting["id"], status=409)["code"] == "cannot_undo"
        say("$0")
        assert read(carol, waiting["id"])["resolution"] == "obsolete"
        before = see()
        assert undo(carol, waiting["id"], status=409)["code"] == "cannot_undo"
        assert see() == before

    def test_undo_after_a_third_value_took_the_place(self, carol, waiting, say, see):
        resolve(carol, waiting["id"], action="supersede")
        say("$900", by=carol)  # who decided may change what was decided
        before = see()
        problem = undo(carol, waiting["id"], status=409)
        assert (problem["code"], bool(problem["detail"])) == ("cannot_undo", True)
        assert see() == before

    def test_undo_while_the_users_later_words_stand_beside_lets_these_stand_alone(self, carol, waiting, say):
        resolve(carol, waiting["id"], action="supersede")
        later = say("$900")["id"]
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

    def test_undo_of_many_values_while_a_third_stands(self, carol, waiting, tell, see):
        resolve(carol, waiting["id"], action="keep_both", keep="predicate")
        third = tell("$7")["id"]
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

    def test_in_the_same_and_in_another_spelling(self, carol, waiting, tell):
        resolve(carol, waiting["id"], action="reject")
        for value in ("$0", "0 USD", "\uff040", "USD 0.00"):
            again = tell(value, content=f"Truly {value}.")
            assert (again["status"], again["pending_conflicts"]) == ("archived", [])
        again = tell("$0", content="By another name.", claim={"subject": "USER", "predicate": "Has-Budget"})
        assert again["status"] == "archived"

    def test_also_from_others_of_no_more_authority(self, carol, waiting, say, project, agent_of):
        resolve(carol, waiting["id"], action="reject")
        dave = agent_of(project, owner="dave")
        assert say("$0", by=dave, source="tool_output", content="I too.")["status"] == "archived"

    def test_after_the_rejected_memory_was_deleted(self, carol, bob, waiting, tell):
        resolve(carol, waiting["id"], action="reject")
        assert bob.client.delete(f"/api/v1/fragments/{waiting['newcomer']}").status_code == 204
        assert tell("$0", content="In other words, nothing.")["status"] == "archived"

    def test_unless_the_user_says_so(self, carol, waiting, say):
        resolve(carol, waiting["id"], action="reject")
        system = say("$0", by=carol, source="system", content="The system says so.")
        assert system["status"] == "archived"
        user = say("$0", content="The user says so.")
        assert (user["status"], user["superseded"]) == ("active", [waiting["standing"]])

    def test_another_value_still_waits(self, carol, waiting, tell):
        resolve(carol, waiting["id"], action="reject")
        assert tell("$1")["status"] == "quarantined"

    def test_once_taken_back_it_is_not_rejected_any_more(self, carol, waiting, tell):
        resolve(carol, waiting["id"], action="reject")
        undo(carol, waiting["id"])
        assert tell("$0", status=200)["id"] == waiting["newcomer"]

    def test_waiting_twice_is_one_conflict(self, carol, waiting, tell):
        again = tell("0 USD", content="Again.", status=200)
        assert (again["id"], again["deduplicated"]) == (waiting["newcomer"], True)
        assert [pending["id"] for pending in again["pending_conflicts"]] == [waiting["id"]]
        assert listed(carol) == [waiting["id"]]


class TestDisputes:
    """A weaker owner's doubt opens a review."""

    @pytest.fixture
    def review(self, say, bob):
        """Bob doubts what the user said."""
        said = say("$750")
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
        assert resolve(carol, review["id"], status=409, action="keep_both")["code"] == "not_applicable"
        assert see() == before

    def test_whoever_doubts_does_not_settle_it(self, review, project, agent_of):
        """The doubt is what its owner wrote."""
        bobs = agent_of(project, owner="bob", verbs=["read", "review"])
        assert resolve(bobs, review["id"], status=403, action="supersede")["code"] == "not_permitted"

    def test_it_ends_when_the_memory_is_replaced(self, carol, review, say):
        say("$900")
        assert read(carol, review["id"])["resolution"] == "obsolete"


class TestFreeText:
    """A text that contradicts what stands."""

    @pytest.fixture
    def shadow(self, say, tell):
        """Bob's text waits before Alice's claim."""
        standing = say("$750")
        newcomer = tell("", claim=None, content="The user's budget is $0.")
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

    def test_rejected_it_comes_back_archived(self, carol, shadow, tell):
        resolve(carol, shadow["id"], action="reject")
        again = tell("", claim=None, content="The user's budget is 0 USD, as was said.")
        assert again["status"] == "archived"

    def test_forgotten_its_words_are_gone(self, carol, bob, shadow):
        resolve(carol, shadow["id"], action="reject", note="Bob made it up.")
        assert bob.client.delete(f"/api/v1/fragments/{shadow['newcomer']}").status_code == 204
        row = read(carol, shadow["id"])
        assert (row["statement"], row["note"], row["new_id"]) == (None, "", None)


class TestMoving:
    """Conflicts follow what stands."""

    def test_to_whatever_replaces_the_standing_value(self, carol, waiting, say):
        second = say("$900")
        row = read(carol, waiting["id"])
        assert (row["status"], row["existing_id"], row["existing_claim"]["value"]) == (
            *("pending", second["id"]),
            "$900",
        )
        assert row["revision"] == 2

    def test_a_text_too(self, carol, say, tell):
        say("$750")
        (pending,) = tell("", claim=None, content="The user's budget is $0.")["pending_conflicts"]
        second = say("$900")
        assert (read(carol, pending["id"])["existing_id"], read(carol, pending["id"])["revision"]) == (second["id"], 2)

    def test_obsolete_when_somebody_stronger_says_the_same(self, carol, waiting, say):
        same = say("$0", content="The user says it is nothing.")
        row = read(carol, waiting["id"])
        assert (row["status"], row["resolution"], row["resolved_by"]) == ("resolved", "obsolete", None)
        assert statuses(carol, waiting["standing"], waiting["newcomer"]) == ["superseded", "superseded"]
        newcomer = carol.client.get(f"/api/v1/fragments/{waiting['newcomer']}").json()
        assert newcomer["superseded_by"] == same["id"]

    def test_undo_of_a_supersession_brings_the_moved_ones_back(self, carol, waiting, tell, see):
        other = tell("$1")
        (moving,) = other["pending_conflicts"]
        before = see()
        resolve(carol, waiting["id"], action="supersede")
        assert read(carol, moving["id"])["existing_id"] == waiting["newcomer"]
        undo(carol, waiting["id"])
        assert see() == before
