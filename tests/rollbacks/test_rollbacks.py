"""Rollbacks: a namespace as it stood, what is let be, and the way back."""

import datetime

import pytest

from memories import jobs


def without(state, ids):
    """A state but for some memories and what is about them."""
    gone = set(map(str, ids))
    return {name: [row for row in rows if not gone & set(map(str, row))] for name, rows in state.items()}


def test_what_came_since_is_archived_and_what_it_replaced_stands_again(alice, said, state, rolled, undone, moment):
    first = said(alice, "The budget is $1.", value="$1", source="user_explicit")
    then, at = state(), moment()
    second = said(alice, "The budget is $2.", value="$2", source="user_explicit")
    assert second["superseded"] == [first["id"]]
    before = state()
    operation = rolled(at)
    assert operation.report["counts"]["set_aside"] == 1
    assert operation.report["set_aside"] == [second["id"]]
    assert operation.report["changed"] == [first["id"]]
    assert without(state(), [second["id"]]) == then
    aside = alice.client.get(f"/api/v1/fragments/{second['id']}").json()
    assert aside["status"] == "archived"
    undone(operation)
    assert state() == before


def test_whoever_was_told_what_a_rollback_sets_aside_is_told_so(alice, main, said, rolled, undone, moment):
    said(alice, "We meet on Mondays.")
    at = moment()
    since = said(alice, "The budget is $2.")
    alice.client.post("/api/v1/context", {"namespace": main, "query": "What is the budget?"}, format="json")

    def told():
        found = alice.client.get("/api/v1/notices", {"namespace": main}).json()["results"]
        return [(each["fragment_id"], each["reason"]) for each in reversed(found)]

    operation = rolled(at)
    assert told() == [(since["id"], "ruled_out")]
    undone(operation)
    assert told() == [(since["id"], "ruled_out"), (since["id"], "restored")]


def test_who_upheld_former_words_does_so_again(alice, bob, said, state, rolled, undone, moment):
    first = said(alice, "The budget is $1.", value="$1", source="user_explicit")
    path = f"/api/v1/fragments/{first['id']}"
    for ballot in ("reinforce", "corroborate"):
        assert bob.client.post(f"{path}/{ballot}", {}, format="json").json()["counted"]
    then, at = state(), moment()
    change = {"content": "The budget is $2.", "claim": {"subject": "acme", "predicate": "budget", "value": "$2"}}
    assert alice.client.patch(path, change, format="json").json()["reinforcements"] == 0
    before = state()
    operation = rolled(at)
    assert operation.report["let_be"] == {}
    assert state() == then
    undone(operation)
    assert state() == before


def test_a_dry_run_only_tells_and_its_plan_binds(alice, said, state, rolled, moment):
    said(alice, "The budget is $1.", value="$1", source="user_explicit")
    at = moment()
    said(alice, "The budget is $2.", value="$2", source="user_explicit")
    before = state()
    plan = rolled(at, dry_run=True)
    assert state() == before
    said(alice, "We meet on Mondays.")
    failed = rolled(at, plan_id=str(plan.id), ends="failed")
    assert failed.error["code"] == "plan_changed"
    plan = rolled(at, dry_run=True)
    done = rolled(at, plan_id=str(plan.id))
    assert (
        done.report["counts"]
        == plan.report["counts"]
        == {**dict.fromkeys(plan.report["counts"], 0), "set_aside": 2, "changed": 1}
    )
    again = rolled(at, plan_id=str(plan.id), code=409)
    assert again["code"] == "plan_used"


def test_a_decision_since_is_taken_back_and_the_conflict_waits_again(
    alice, bob, carol, said, decide, state, rolled, undone, moment
):
    said(alice, "The budget is $1.", value="$1", source="user_explicit")
    newcomer = said(bob, "The budget is $2.", value="$2")
    then, at = state(), moment()
    decide(carol, newcomer["pending_conflicts"][0]["id"], "supersede")
    before = state()
    operation = rolled(at)
    counts = operation.report["counts"]
    assert (counts["conflicts_reopened"], counts["rulings_withdrawn"]) == (1, 1)
    assert state() == then
    undone(operation)
    assert state() == before


def test_a_decision_that_was_undone_since_holds_again(alice, bob, carol, said, decide, state, rolled, undone, moment):
    said(alice, "The budget is $1.", value="$1", source="user_explicit")
    conflict = said(bob, "The budget is $2.", value="$2")["pending_conflicts"][0]["id"]
    decide(carol, conflict, "supersede")
    then, at = state(), moment()
    assert carol.client.post(f"/api/v1/conflicts/{conflict}/undo", {}, format="json").status_code == 200
    before = state()
    operation = rolled(at)
    assert operation.report["counts"]["rulings_restored"] == 1
    assert state() == then
    undone(operation)
    assert state() == before
    rolled(at)
    assert said(bob, "The budget is $1 again.", value="$1")["status"] in ("quarantined", "archived")


def test_a_text_and_its_claim_read_as_they_did(alice, said, state, rolled, undone, moment):
    stored = said(alice, "The budget is $1.", value="$1", source="user_explicit")
    then, at = state(), moment()
    change = {
        "revision": stored["revision"],
        "content": "The budget is $9 now.",
        "claim": {"subject": "acme", "predicate": "budget", "value": "$9"},
    }
    answer = alice.client.patch(f"/api/v1/fragments/{stored['id']}", change, format="json")
    assert answer.status_code == 200, answer.json()
    before = state()
    operation = rolled(at)
    assert operation.report["reworded"] == [stored["id"]]
    assert state() == then
    found = alice.client.post("/api/v1/search", {"query": "budget $1", "namespace": stored["namespace"]}, format="json")
    assert found.json()["results"][0]["content"] == "The budget is $1."
    undone(operation)
    assert state() == before


def test_votes_since_count_no_more(alice, bob, said, state, rolled, undone, moment):
    stored = said(alice, "The budget is $1.", value="$1")
    then, at = state(), moment()
    assert (
        bob.client.post(f"/api/v1/fragments/{stored['id']}/dispute", {"reason": "no"}, format="json").status_code == 200
    )
    before = state()
    assert before["votes"]
    operation = rolled(at)
    assert state() == then
    undone(operation)
    assert state() == before


def test_what_was_forgotten_stays_forgotten(alice, said, state, rolled, moment):
    kept, gone = said(alice, "We meet on Mondays."), said(alice, "The door code is 4711.")
    edited = said(alice, "The gate code is 0815.")
    at = moment()
    change = {"revision": edited["revision"], "content": "The gate has no code."}
    assert alice.client.patch(f"/api/v1/fragments/{edited['id']}", change, format="json").status_code == 200
    other = said(alice, "The gate code is 0815.", key="twin")
    for each in (gone, other):
        assert alice.client.delete(f"/api/v1/fragments/{each['id']}").status_code == 204
    operation = rolled(at)
    assert operation.report["let_be"] == {"forgotten": 1, "text_forgotten": 1}
    texts = {row[1] for row in state()["fragments"]}
    assert texts == {kept["content"], "The gate has no code."}


def test_what_is_contained_stays_contained(alice, bob, carol, said, state, rolled, moment):
    stored = said(bob, "The budget is $2.", value="$2")
    at = moment()
    assert carol.client.post("/api/v1/containments", {"owner": "bob"}, format="json").status_code == 201
    operation = rolled(at)
    assert operation.report["let_be"] == {"contained": 1}
    assert alice.client.get(f"/api/v1/fragments/{stored['id']}").json()["status"] == "quarantined"


def test_what_was_evicted_comes_back_and_leaves_again(alice, said, state, rolled, undone, moment, evict):
    stored = said(alice, "We meet on Mondays.", importance=0.1)
    then, at = state(), moment()
    answer = alice.client.post(f"/api/v1/fragments/{stored['id']}/archive", {}, format="json")
    assert answer.status_code == 200
    evict(stored["id"])
    assert alice.client.get(f"/api/v1/fragments/{stored['id']}").status_code in (404, 410)
    operation = rolled(at)
    assert operation.report["returned"] == [stored["id"]]
    assert state() == then
    undone(operation)
    assert alice.client.get(f"/api/v1/fragments/{stored['id']}").status_code in (404, 410)
    again = rolled(at)
    assert again.report["returned"] == [stored["id"]]
    assert state() == then


def test_users_go_along_or_one_of_them_alone(alice, said, rolled, moment, main):
    kept = said(alice, "We meet on Mondays.", user="zoe")
    at = moment()
    zoe, ann = said(alice, "Tea, please.", user="zoe"), said(alice, "Coffee, please.", user="ann")
    alone = rolled(at, user="zoe")
    assert alone.report["set_aside"] == [zoe["id"]]
    whole = rolled(at)
    assert whole.report["set_aside"] == [ann["id"]]
    found = alice.client.post("/api/v1/search", {"query": "meet", "namespace": main, "user": "zoe"}, format="json")
    assert [one["id"] for one in found.json()["results"]] == [kept["id"]]


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ({"days": 1}, "over"),
        ({"days": -400}, "made later"),
    ],
)
def test_moments_that_do_not_fit(alice, said, rolled, moment, to, message):
    said(alice, "We meet on Mondays.")
    refused = rolled(moment() + datetime.timedelta(**to), code=400)
    assert message in str(refused)


def test_who_may(alice, bob, said, rolled, moment, agent_of, project):
    at = moment()
    said(alice, "The budget is $1.", value="$1", source="user_explicit")
    at = moment()
    said(alice, "The budget is $2.", value="$2", source="user_explicit")
    rolled(at, agent=bob, code=403)
    weak = agent_of(project, owner="weak", verbs=["read", "write", "admin"], ceiling="tool_output")
    assert rolled(at, agent=weak, code=403)["code"] == "not_permitted"
    assert rolled(at, dry_run=True).report["counts"]["set_aside"] == 1


def test_an_undo_beside_later_changes_is_refused(alice, said, rolled, undone, moment):
    first = said(alice, "The budget is $1.", value="$1", source="user_explicit")
    at = moment()
    said(alice, "The budget is $2.", value="$2", source="user_explicit")
    operation = rolled(at)
    said(alice, "The budget is $3.", value="$3", source="user_explicit")
    refused = undone(operation, ends="failed")
    assert refused.error["code"] == "cannot_undo"
    assert refused.report["changed_since"]["ids"] == [first["id"]]


def test_who_lost_to_what_is_contained_stands(alice, bob, carol, said, rolled, moment):
    kept = said(bob, "The budget is $1.", value="$1")
    said(bob, "The budget is $2.", value="$2")
    at = moment()
    contained = carol.client.post("/api/v1/containments", {"content": "The budget is $2."}, format="json")
    assert contained.status_code == 201
    assert alice.client.get(f"/api/v1/fragments/{kept['id']}").json()["status"] == "active"
    operation = rolled(at)
    assert operation.report["let_be"] == {"cause_forgotten": 1, "contained": 1}
    assert alice.client.get(f"/api/v1/fragments/{kept['id']}").json()["status"] == "active"


def test_a_dispute_that_is_contained_does_not_hold_again(alice, bob, carol, said, rolled, moment):
    stored = said(bob, "The plant is a ficus.", source="inference")
    path = f"/api/v1/fragments/{stored['id']}"
    assert alice.client.post(f"{path}/dispute", {"reason": "It is a palm."}, format="json").status_code == 200
    assert alice.client.get(path).json()["status"] == "disputed"
    at = moment()
    assert carol.client.post("/api/v1/containments", {"owner": "alice"}, format="json").status_code == 201
    assert bob.client.get(path).json()["status"] == "active"
    assert rolled(at).report["let_be"]["cause_forgotten"] == 1
    assert bob.client.get(path).json()["status"] == "active"


def test_nobody_weaker_takes_a_decision_back(bob, carol, said, decide, rolled, moment, agent_of, project):
    said(bob, "The budget is $1.", value="$1")
    scan = agent_of(project, owner="scan", ceiling="document")
    waits = said(scan, "The budget is $2.", value="$2", source="document")
    at = moment()
    decide(carol, waits["pending_conflicts"][0]["id"], "reject")
    weak = agent_of(project, owner="weak", verbs=["read", "write", "admin"], ceiling="tool_output")
    assert rolled(at, agent=weak, code=403)["code"] == "not_permitted"
    assert rolled(at).report["counts"]["rulings_withdrawn"] == 1


def test_a_claim_of_a_session_is_in_no_way(alice, said, rolled, undone, state, moment):
    claim = {"subject": "acme", "predicate": "budget", "value": "$3", "scope": "session", "session_id": "s1"}
    stored = said(alice, "Today it is $3.", claims=[claim], source="user_explicit")
    at = moment()
    change = {"revision": stored["revision"], "claims": []}
    assert alice.client.patch(f"/api/v1/fragments/{stored['id']}", change, format="json").status_code == 200
    before = state()
    operation = rolled(at)
    assert operation.report["let_be"] == {"words_lost": 1}
    undone(operation)
    assert state() == before


def test_no_claim_comes_back_without_its_text(alice, said, rolled, moment, main):
    stored = said(alice, "The door is 4711.", value="4711", predicate="door")
    at = moment()
    claim = {"subject": "acme", "predicate": "door", "value": "blue"}
    change = {"revision": stored["revision"], "content": "The door is blue.", "claim": claim}
    assert alice.client.patch(f"/api/v1/fragments/{stored['id']}", change, format="json").status_code == 200
    twin = said(alice, "The door is 4711.", key="twin")
    assert alice.client.delete(f"/api/v1/fragments/{twin['id']}").status_code == 204
    assert rolled(at).report["let_be"] == {"text_forgotten": 1}
    believed = alice.client.get("/api/v1/claims", {"namespace": main, "subject": "acme"}).json()["results"]
    assert [one["value"] for one in believed] == ["blue"]


@pytest.mark.parametrize("then", ["session", "global"])
def test_no_claim_of_a_session_becomes_one_of_all(alice, said, rolled, moment, main, then):
    def claim(value, scope):
        session = {"scope": "session", "session_id": "s1"} if scope == "session" else {}
        return {"subject": "ann", "predicate": "mood", "value": value, **session}

    later = "global" if then == "session" else "session"
    stored = said(alice, "Ann's mood.", claims=[claim("good", then)])
    at = moment()
    change = {"revision": stored["revision"], "claims": [claim("bad", later)]}
    assert alice.client.patch(f"/api/v1/fragments/{stored['id']}", change, format="json").status_code == 200
    assert rolled(at).report["let_be"]["words_lost"] == 1
    believed = alice.client.get("/api/v1/claims", {"namespace": main, "subject": "ann"}).json()["results"]
    assert "good" not in {one["value"] for one in believed}


def test_what_comes_back_leaves_no_conflict_behind(bob, said, rolled, undone, state, moment, evict):
    stored = said(bob, "The budget is $1.", value="$1")
    then, at = state(), moment()
    evict(stored["id"])
    newer = said(bob, "The budget is $2.", value="$2")
    before = state()
    operation = rolled(at)
    assert operation.report["returned"] == [stored["id"]]
    assert without(state(), [newer["id"]]) == then
    undone(operation)
    assert state() == before


def test_what_came_back_and_was_changed_is_in_the_way(alice, said, rolled, undone, moment, evict):
    stored = said(alice, "We meet on Mondays.")
    at = moment()
    evict(stored["id"])
    operation = rolled(at)
    row = alice.client.get(f"/api/v1/fragments/{stored['id']}").json()
    change = {"revision": row["revision"], "content": "We meet on Fridays."}
    assert alice.client.patch(f"/api/v1/fragments/{stored['id']}", change, format="json").status_code == 200
    assert undone(operation, ends="failed").report["changed_since"]["ids"] == [stored["id"]]


def test_nobody_weaker_brings_back_what_left(alice, said, rolled, moment, evict, agent_of, project):
    stored = said(alice, "We meet on Mondays.", source="user_explicit")
    at = moment()
    evict(stored["id"])
    weak = agent_of(project, owner="weak", verbs=["read", "write", "admin"], ceiling="tool_output")
    assert rolled(at, agent=weak, code=403)["code"] == "not_permitted"


def test_what_was_said_before_it_began_is_asked_for_again(alice, said, moment, main, agent_of, project, principal):
    said(alice, "We meet on Mondays.")
    at = moment()
    weak = agent_of(project, owner="weak", verbs=["read", "write", "admin"], ceiling="tool_output")
    queued = weak.client.post("/api/v1/rollbacks", {"namespace": main, "to": at.isoformat()}, format="json")
    later = said(alice, "The budget is $1.", value="$1", source="user_explicit")
    ended = jobs.run(principal, queued.json()["id"])
    assert (ended.state, ended.error["code"]) == ("failed", "not_permitted")
    assert alice.client.get(f"/api/v1/fragments/{later['id']}").json()["status"] == "active"


def test_who_lost_to_what_was_forgotten_stands(alice, said, rolled, undone, state, moment):
    first = said(alice, "The budget is $1.", value="$1")
    second = said(alice, "The budget is $2.", value="$2")
    at = moment()
    assert alice.client.delete(f"/api/v1/fragments/{second['id']}").status_code == 204
    said(alice, "The budget is $3.", value="$3")
    before = state()
    operation = rolled(at)
    assert alice.client.get(f"/api/v1/fragments/{first['id']}").json()["status"] == "active"
    undone(operation)
    assert state() == before


@pytest.mark.parametrize("contained", [False, True])
def test_what_ended_where_something_began_that_is_gone_goes_on(
    alice, carol, said, rolled, undone, state, moment, contained
):
    claim = {"subject": "ann", "predicate": "city"}
    oslo = said(alice, "Ann lives in Oslo.", claim={**claim, "value": "Oslo"})
    early = moment()
    since = {"scope": "temporal", "valid_from": "2026-01-01T00:00:00Z"}
    rome = said(alice, "Ann has moved to Rome.", claim={**claim, "value": "Rome", **since})
    at = moment()
    if contained:
        answer = carol.client.post("/api/v1/containments", {"content": rome["content"]}, format="json")
        assert answer.status_code == 201, answer.json()
    else:
        assert alice.client.delete(f"/api/v1/fragments/{rome['id']}").status_code == 204
    said(alice, "Ann lives in Pisa.", claim={**claim, "value": "Pisa"})
    before = state()
    for to in (at, early):
        operation = rolled(to)
        row = alice.client.get(f"/api/v1/fragments/{oslo['id']}").json()
        assert (row["status"], row["claim"]["valid_until"]) == ("active", None)
        undone(operation)
        assert state() == before


def test_what_ended_where_something_begins_still_ends_there_again(alice, said, rolled, undone, state, moment):
    claim = {"subject": "ann", "predicate": "city"}
    said(alice, "Ann lives in Oslo.", claim={**claim, "value": "Oslo"})
    since = {"scope": "temporal", "valid_from": "2026-01-01T00:00:00Z"}
    rome = said(alice, "Ann has moved to Rome.", claim={**claim, "value": "Rome", **since})
    then, at = state(), moment()
    change = {"content": "Ann stays where she is.", "claim": None}
    assert alice.client.patch(f"/api/v1/fragments/{rome['id']}", change, format="json").status_code == 200
    before = state()
    operation = rolled(at)
    assert {**state(), "words": []} == {**then, "words": []}
    undone(operation)
    assert state() == before


def test_a_rule_that_changed_since_holds(alice, said, rolled, state, moment, main):
    rule = {"namespace": main, "name": "beverage", "exclusive": False}
    made = alice.client.post("/api/v1/predicates", rule, format="json").json()
    said(alice, "Tea.", value="tea", predicate="beverage")
    coffee = said(alice, "Coffee.", value="coffee", predicate="beverage")
    at = moment()
    assert alice.client.post(f"/api/v1/fragments/{coffee['id']}/archive", {}, format="json").status_code == 200
    change = {"exclusive": True, "revision": made["revision"]}
    changed = alice.client.patch(f"/api/v1/predicates/{made['id']}", change, format="json")
    assert changed.status_code == 200, changed.json()
    before = state()
    assert rolled(at, ends="failed").error["code"] == "cannot_roll_back"
    assert state() == before
