"""What people decided and others said after a run, when that run is taken back."""

import pytest

from memories import jobs

KEEP_BOTH = ("keep_both", {"keep": "pair"})
KEEP_THIS_ONE = ("reject", {"protect": True})


@pytest.fixture
def bob(project, agent_of):
    return agent_of(project, owner="bob", ceiling="tool_output")


@pytest.fixture
def page(project, agent_of):
    return agent_of(project, owner="page", ceiling="tool_output")


@pytest.fixture
def merged(bob, carol, principal, main, said):
    """A branch that says $2, merged over $1; the operation and the memory that stands."""
    said(bob, "The budget is $1.", value="$1")

    def job(path, **body):
        answer = carol.client.post(f"/api/v1/namespaces/{path}", body, format="json")
        assert answer.status_code == 202, answer.json()
        ended = jobs.run(principal, answer.json()["id"])
        assert ended.state == "succeeded", ended.error
        return ended

    job(f"{main}/fork", target=f"{main}-side")
    said(bob, "The budget is $2.", value="$2", namespace=f"{main}-side")
    operation = job(f"{main}-side/merge", target=main)
    return operation, operation.report["added"][0]


@pytest.fixture
def rolled_back(bob, said, rolled, moment):
    """$1, after a rollback that set $2 aside; the operation and the memory that stands."""
    first, at = said(bob, "The budget is $1.", value="$1"), moment()
    said(bob, "The budget is $2.", value="$2")
    return rolled(at), first["id"]


@pytest.fixture(params=["merged", "rolled_back"])
def run(request):
    return request.getfixturevalue(request.param)


def believed(agent, main):
    rows = agent.client.get("/api/v1/claims", {"namespace": main, "predicate": "budget"}).json()["results"]
    return sorted(row["value"] for row in rows if row["status"] == "active")


@pytest.mark.parametrize(("action", "more"), [KEEP_BOTH, KEEP_THIS_ONE], ids=["keep_both", "keep_this_one"])
def test_it_is_not_taken_back_over_what_a_person_chose_since(
    run, page, carol, main, said, decide, undone, state, action, more
):
    operation, stands = run
    late = said(page, "A page says the budget is $8.", value="$8", source="document")
    conflict = late["pending_conflicts"][0]["id"]
    decide(carol, conflict, action, **more)
    before = state()
    refused = undone(operation, ends="failed")
    assert refused.error["code"] == "cannot_undo"
    assert refused.error["detail"] == "people decided on these memories since; undo those decisions first"
    assert refused.report["changed_since"]["ids"] == [stands]
    assert state() == before
    carol.client.post(f"/api/v1/conflicts/{conflict}/undo", {}, format="json")
    undone(operation)
    assert len(believed(carol, main)) == 1


def test_what_was_rejected_since_stays_so(run, page, carol, main, said, decide, undone):
    operation, _ = run
    late = said(page, "A page says the budget is $8.", value="$8", source="document")
    decide(carol, late["pending_conflicts"][0]["id"], "reject")
    undone(operation)
    assert "$8" not in believed(carol, main)


def test_it_is_not_taken_back_where_what_stood_before_was_rejected_since(run, page, carol, said, decide, undone, state):
    operation, stands = run
    before = {"$1": "$2", "$2": "$1"}[carol.client.get(f"/api/v1/fragments/{stands}").json()["claim"]["value"]]
    late = said(page, f"A page says the budget is {before}.", value=before, source="document")
    conflict = late["pending_conflicts"][0]["id"]
    decide(carol, conflict, "reject")
    stood = state()
    refused = undone(operation, ends="failed")
    assert refused.error["detail"] == "people decided on these memories since; undo those decisions first"
    assert state() == stood
    carol.client.post(f"/api/v1/conflicts/{conflict}/undo", {}, format="json")
    undone(operation)


def test_what_waits_since_waits_against_what_stands_again(run, page, carol, main, said, decide, undone):
    operation, stands = run
    late = said(page, "A page says the budget is $8.", value="$8", source="document")
    undone(operation)
    (conflict,) = carol.client.get("/api/v1/conflicts").json()["results"]
    again = carol.client.get(f"/api/v1/fragments/{conflict['existing_id']}").json()
    assert (conflict["new_id"], again["status"]) == (late["id"], "active")
    assert again["id"] != stands
    decide(carol, conflict["id"], "supersede")
    assert believed(carol, main) == ["$8"]


def test_a_free_text_that_waits_since_waits_against_what_stands_again(run, page, carol, main, said, decide, undone):
    operation, _ = run
    late = said(page, "Acme's budget is $8.", source="document")
    (conflict,) = carol.client.get("/api/v1/conflicts").json()["results"]
    assert (conflict["kind"], conflict["new_id"]) == ("text", late["id"])
    undone(operation)
    (again,) = carol.client.get("/api/v1/conflicts").json()["results"]
    assert (again["id"], again["new_id"]) == (conflict["id"], late["id"])
    assert carol.client.get(f"/api/v1/fragments/{again['existing_id']}").json()["status"] == "active"
    decide(carol, again["id"], "supersede")
    assert believed(carol, main) == ["$8"]


def test_what_a_rule_lets_stand_beside_it_stays(run, page, carol, main, said, undone):
    operation, _ = run
    rule = {"namespace": main, "name": "budget", "cardinality": "one", "policy": "keep_both"}
    assert carol.client.post("/api/v1/predicates", rule, format="json").status_code == 201
    said(page, "A page says the budget is $8.", value="$8", source="tool_output")
    stood = believed(carol, main)
    undone(operation)
    assert (len(stood), len(believed(carol, main))) == (2, 2)


def test_a_containment_is_not_taken_back_over_what_a_person_chose_since(
    bob, page, carol, main, said, decide, project, agent_of
):
    mallory = agent_of(project, owner="bob", ceiling="system")
    said(bob, "The budget is $1.", value="$1")
    said(mallory, "The budget is $2.", value="$2", source="system")
    answer = carol.client.post("/api/v1/containments", {"key_id": str(mallory.principal.key_id)}, format="json")
    assert answer.status_code == 201, answer.json()
    late = said(page, "A page says the budget is $8.", value="$8", source="document")
    conflict = late["pending_conflicts"][0]["id"]
    decide(carol, conflict, "reject", protect=True)
    path = f"/api/v1/containments/{answer.json()['id']}/undo"
    refused = carol.client.post(path, {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "cannot_undo")
    assert "people decided" in refused.json()["detail"]
    assert believed(carol, main) == ["$1"]
    carol.client.post(f"/api/v1/conflicts/{conflict}/undo", {}, format="json")
    assert carol.client.post(path, {}, format="json").status_code == 200
    assert believed(carol, main) == ["$2"]


def test_a_decision_is_not_taken_back_while_a_later_one_rests_on_it(bob, page, alice, carol, main, said, decide):
    said(alice, "The budget is $1.", value="$1", source="user_explicit")
    tool = said(bob, "The budget is $2.", value="$2")["pending_conflicts"][0]["id"]
    decide(carol, tool, "supersede")
    late = said(page, "A page says the budget is $8.", value="$8", source="document")["pending_conflicts"][0]["id"]
    decide(carol, late, "reject", protect=True)
    refused = carol.client.post(f"/api/v1/conflicts/{tool}/undo", {}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (409, "cannot_undo")
    assert believed(carol, main) == ["$2"]
    for conflict in (late, tool):
        answer = carol.client.post(f"/api/v1/conflicts/{conflict}/undo", {}, format="json")
        assert answer.status_code == 200, answer.json()
    assert believed(carol, main) == ["$1"]
