"""Harder cases: texts, periods, contests, several keys. What was chosen stands, or all of it is refused."""

import base64

import pytest

from tests.conflicts.rulings.conftest import context, decide, get, only, pending
from tests.conflicts.rulings.test_cases import BUDGET, case, choose, settle, take_back, value_of

pytestmark = pytest.mark.examples

TYPED = {"content": "The budget is $9.", "value": "$9"}


def text(agent, content, source="tool_output"):
    body = {"namespace": "acme:main", "content": content, "provenance": {"source": source}}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code == 201
    return answer.json()


def holding(found):
    return {one["value"] for one in found["values"] if one["stands"]}


@pytest.fixture
def scan(project, agent_of):
    return agent_of(project, owner="scan", ceiling="document")


@pytest.mark.parametrize("said", ["The user's budget is $13.", "The user's budget is not $750."])
@pytest.mark.parametrize("value", ["$9", "$14", "$13", "$750"])
def test_what_is_typed_is_claimed_also_in_place_of_a_text(carol, store_claim, bob, paper, said, value):
    store_claim("$750", claim=BUDGET)
    text(bob, said)
    store_claim("$14", by=paper, source="document", claim=BUDGET)
    before = case(carol)
    found = settle(carol, before, correction={"content": f"The budget is {value}.", "value": value})
    assert (holding(found), found["waiting"]) == ({value}, 0)
    assert holding(take_back(carol, found)) == {"$750"}


def test_what_is_typed_has_no_period_of_others(carol, store_claim, read_out):
    store_claim("$48,000")
    read_out("$84,000", valid_from="2025-01-01T00:00:00Z", valid_until="2025-06-01T00:00:00Z")
    settle(carol, case(carol), correction={"content": "It is worth $77,000.", "value": "$77,000"})
    now = get(carol, "claims", namespace="acme:main", as_of="2026-11-01T00:00:00Z")["results"]
    assert [one["value"] for one in now] == ["$77,000"]


def test_what_is_typed_needs_a_value(carol, store_claim, bob):
    store_claim("$750", claim=BUDGET)
    text(bob, "The user's budget is $13.")
    assert settle(carol, case(carol), correction={"content": "It is gone."}, code=409)["code"] == "not_applicable"


@pytest.fixture
def contested(carol, store_claim, paper):
    """The document's $13 was chosen; the user says $800 since: both are served."""
    store_claim("$750", claim=BUDGET)
    store_claim("$13", by=paper, source="document", claim=BUDGET)
    choose(carol, case(carol), "$13")
    store_claim("$800", claim=BUDGET)
    return case(carol)


@pytest.mark.parametrize(("values", "hold"), [(["$13"], {"$13"}), (["$800"], {"$800"}), (["$13", "$800"],) * 2])
def test_a_contest_is_settled(carol, contested, values, hold):
    found = choose(carol, contested, *values)
    assert (found["waiting"], holding(found)) == (0, set(hold))
    again = take_back(carol, found)
    assert (again["waiting"], holding(again)) == (1, {"$13", "$800"})


def test_a_contest_is_settled_by_what_is_typed(carol, contested):
    assert holding(settle(carol, contested, correction=TYPED)) == {"$9"}


def test_only_what_was_decided_last_is_undone(carol, store_claim, read_out, agent_of, project):
    store_claim("$48,000")
    read_out("$84,000")
    found = choose(carol, case(carol), "$48,000")
    newer = store_claim("$77", by=agent_of(project, owner="erin", ceiling="user_explicit"))
    decide(carol, only(newer["pending_conflicts"])["id"], "supersede")
    assert take_back(carol, found, code=409)["code"] == "cannot_undo"
    assert holding(case(carol, status="all")) == {"$77"}


def test_all_who_say_what_was_chosen_stand_with_it(carol, store_claim, bob, scan):
    store_claim("$750", claim=BUDGET)
    text(bob, "The user's budget is $13.")
    text(scan, "The user's budget is $13 now.", "document")
    before = case(carol)
    found = choose(carol, before, "$13")
    assert (found["waiting"], holding(found)) == (0, {"$13"})
    assert take_back(carol, found)["waiting"] == before["waiting"] == 2


def test_also_of_another_time(carol, store_claim, read_out, scan):
    store_claim("$48,000")
    read_out("$84,000", valid_from="2025-01-01T00:00:00Z", valid_until="2025-06-01T00:00:00Z")
    store_claim("$84,000", by=scan, source="document", valid_from="2026-02-01T00:00:00Z")
    found = choose(carol, case(carol), "$84,000")
    assert (found["waiting"], holding(found)) == (0, {"$84,000"})


def test_a_value_whose_time_is_over_is_not_in_the_way(carol, store_claim, read_out, scan):
    store_claim("$48,000", valid_from="2025-01-01T00:00:00Z")
    read_out("$84,000", valid_from="2026-01-01T00:00:00Z")
    choose(carol, case(carol), "$48,000", "$84,000", keep="period")
    store_claim("$99", by=scan, source="document", valid_from="2026-03-01T00:00:00Z")
    found = choose(carol, case(carol), "$84,000")
    assert (found["waiting"], holding(found)) == (0, {"$48,000", "$84,000"})


def test_where_something_else_would_stand_nothing_is_decided(carol, store_claim, bob, agent_of, project):
    dave = agent_of(project, owner="dave", ceiling="user_explicit")
    store_claim("$750", claim=BUDGET)
    text(bob, "The user's budget is $13.")
    kept = store_claim("$800", by=dave, claim=BUDGET)
    decide(carol, only(kept["pending_conflicts"])["id"], "keep_both")
    before = case(carol)
    assert choose(carol, before, "$13", code=409)["code"] == "not_applicable"
    assert case(carol) == before


def test_a_text_is_decided_on_every_key_and_undone_from_each(carol, store_claim, bob):
    store_claim("$750", claim=BUDGET)
    store_claim("$48,000")
    text(bob, "The user's budget is $13. Acme's contract value is $90,000.")
    choose(carol, case(carol, predicate="budget"), "$13")
    assert pending(carol) == []
    other = case(carol, predicate="contract value", status="all")
    assert holding(other) == {"$90,000"}
    assert holding(take_back(carol, other)) == {"$48,000"}
    assert holding(case(carol, predicate="budget")) == {"$750"}


def test_who_agreed_with_what_stands_does_not_settle_for_it(carol, store_claim, read_out, agent_of, project):
    store_claim("$48,000")
    read_out("$84,000")
    erin = {"owner": "erin", "ceiling": "user_explicit"}
    store_claim("$48,000", by=agent_of(project, **erin))
    judge = agent_of(project, **erin, verbs=["read", "review"])
    assert value_of(case(judge), "$48,000")["owners"] == ["alice", "erin"]
    choose(judge, case(judge), "$48,000", code=403)


def test_what_was_replaced_still_says_who_was_told(carol, store_claim, read_out, alice):
    store_claim("$48,000")
    context(alice)
    read_out("$84,000")
    found = choose(carol, case(carol), "$84,000")
    former = value_of(found, "$48,000")
    assert (former["stands"], former["waiting"], former["ruled_out"]) == (False, 0, True)
    assert former["carried"]["answers"] == 1
    assert choose(carol, found, "$48,000", code=409)["code"] == "already_resolved"


def test_one_challenger_of_two_counts_once(carol, store_claim, agent_of, project, read_out):
    store_claim("$1", claim=BUDGET)
    two = store_claim("$2", by=agent_of(project, owner="dave", ceiling="user_explicit"), claim=BUDGET)
    decide(carol, only(two["pending_conflicts"])["id"], "keep_both")
    read_out("$3", claim=BUDGET)
    assert len(pending(carol)) == 2
    assert case(carol)["waiting"] == 1
    assert [one["waiting"] for one in get(carol, "cases/groups", by="owner")["results"]] == [1]
    cleared = carol.client.post("/api/v1/cases/clear", {"predicate": "budget"}, format="json").json()
    assert (cleared["matched"], cleared["cleared"], cleared["left"]) == (1, 1, 0)


def test_a_clearing_goes_on_behind_what_it_may_not_reject(store_claim, agent_of, project, monkeypatch):
    monkeypatch.setattr("conflicts.resolution.case_decisions.CLEARED_AT_ONCE", 1)
    store_claim("$1", claim=BUDGET)
    store_claim("$30", by=agent_of(project, owner="tool"), source="tool_output", claim=BUDGET)
    for n in range(2):
        by = agent_of(project, owner=f"d{n}", ceiling="document")
        store_claim(f"$2{n}", by=by, source="document", claim=BUDGET)
    judge = agent_of(project, owner="judge", ceiling="document", verbs=["read", "review"])
    seen, after = [], None
    while True:
        body = {"predicate": "budget", **({"after": after} if after else {})}
        told = judge.client.post("/api/v1/cases/clear", body, format="json").json()
        seen.append((told["cleared"], len(told["refused"]), told["left"]))
        if not (after := told["next"]):
            break
    assert seen == [(0, 1, 2), (1, 0, 1), (1, 0, 0)]


def test_too_many_are_not_settled_in_one_request(carol, store_claim, read_out, monkeypatch):
    monkeypatch.setattr("conflicts.resolution.case_decisions.AT_ONCE", 1)
    store_claim("$1", claim=BUDGET)
    read_out("$2", claim=BUDGET)
    read_out("$3", claim=BUDGET)
    assert choose(carol, case(carol), "$1", code=409)["code"] == "not_applicable"


@pytest.mark.parametrize(("sort", "text"), [("oldest", ">|2026-01-01T00:00:00+00:00|a\0b"), ("most", ">|a\0|b")])
def test_a_cursor_with_a_nul_is_none(carol, sort, text):
    cursor = base64.urlsafe_b64encode(text.encode()).decode()
    assert carol.client.get("/api/v1/cases", {"sort": sort, "cursor": cursor}).status_code == 400


def test_an_excerpt_holds_its_value_whatever_case_does_to_lengths(carol, store_claim, paper):
    store_claim("$48,000")
    body = {
        "namespace": "acme:main",
        "content": f"{'ß' * 400} It is worth $84,000. {'x' * 400}",
        "provenance": {"source": "document"},
        "claim": {"subject": "acme", "predicate": "contract value", "value": "$84,000"},
    }
    assert paper.client.post("/api/v1/fragments", body, format="json").status_code == 201
    assert "$84,000" in value_of(case(carol), "$84,000")["excerpt"]["text"]
