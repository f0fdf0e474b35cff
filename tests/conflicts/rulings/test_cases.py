"""Cases: what waits, by question, and how a question is settled at once."""

import json
import threading
import uuid

import pytest
from django.db import connections

from memories import access
from memories.access import keys
from memories.models import Receipt
from tests.conflicts.rulings.conftest import context, decide, get, only, pending, rulings, status

pytestmark = pytest.mark.examples

BUDGET = {"subject": "user", "predicate": "budget"}


@pytest.fixture
def question(store_claim, read_out, store_tool_claim, agent_of, project):
    """The user's $48,000; a document's $84,000, a tool's $90,000, another document's $84,000."""
    user, paper, tool = store_claim("$48,000"), read_out("$84,000"), store_tool_claim("$90,000")
    again = store_claim("$84,000", by=agent_of(project, owner="scan", ceiling="document"), source="document")
    return {"user": user, "paper": paper, "tool": tool, "again": again}


def case(agent, **query):
    return only(get(agent, "cases", **query)["results"])


def value_of(found, value):
    return only([one for one in found["values"] if one["value"] == value])


def settle(agent, found, *, code=200, **decision):
    body = {"revision": found["revision"], **decision}
    answer = agent.client.post(f"/api/v1/cases/{found['id']}/resolve", body, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def choose(agent, found, *values, code=200, **more):
    return settle(agent, found, choose=[value_of(found, one)["id"] for one in values], code=code, **more)


def take_back(agent, found, *, code=200):
    answer = agent.client.post(f"/api/v1/cases/{found['id']}/undo", {}, format="json")
    assert answer.status_code == code, answer.json()
    return answer.json()


def statuses(agent, question):
    return {name: status(agent, fragment) for name, fragment in question.items()}


@pytest.mark.usefixtures("question")
def test_a_key_is_one_case_with_every_value(carol):
    found = case(carol)
    assert (found["subject"], found["predicate"]) == ("acme", "contract value")
    assert (found["namespace"], found["status"], found["waiting"]) == ("acme:main", "pending", 3)
    assert [(one["value"], one["stands"]) for one in found["values"]] == [
        ("$48,000", True),
        ("$90,000", False),
        ("$84,000", False),
    ]
    assert found["ruling"] is None


def test_a_value_says_who_says_it_how_often_since_when_and_in_which_words(carol, question, store_tool_claim):
    store_tool_claim("$90,000")
    found = case(carol)
    disputed, tool = value_of(found, "$84,000"), value_of(found, "$90,000")
    assert disputed["memories"] == [question["paper"]["id"], question["again"]["id"]]
    assert (disputed["voices"], disputed["repetitions"], disputed["authority"]) == (2, 0, 2)
    assert (tool["voices"], tool["repetitions"]) == (1, 1)
    assert tool["first_at"] < tool["last_at"]
    assert disputed["excerpt"] == {"fragment_id": question["paper"]["id"], "text": "It is worth $84,000."}
    assert disputed["owners"] == ["paper", "scan"]


def test_who_has_it_from_the_same_source_is_one_voice(carol, store_claim, agent_of, project):
    store_claim("$48,000")
    for owner in ("one", "two"):
        by = agent_of(project, owner=owner, ceiling="document")
        body = {
            "namespace": "acme:main",
            "content": f"{owner} read that it is worth $84,000.",
            "provenance": {"source": "document", "source_id": "letter-7"},
            "claim": {"subject": "acme", "predicate": "contract value", "value": "$84,000"},
        }
        assert by.client.post("/api/v1/fragments", body, format="json").status_code == 201
    challenger = value_of(case(carol), "$84,000")
    assert (challenger["voices"], challenger["sources"]) == (1, ["letter-7"])


def test_a_value_says_which_answers_carried_it(carol, question, alice, bob):
    for agent in (alice, alice, bob):
        context(agent)
    standing = value_of(case(carol), "$48,000")
    assert (standing["carried"]["answers"], standing["carried"]["agents"]) == (3, 2)
    assert value_of(case(carol), "$90,000")["carried"] == {"answers": 0, "agents": 0, "last_at": None}


def test_choosing_a_challenger_settles_everything(carol, question):
    found = choose(carol, case(carol), "$84,000", note="signed on Monday")
    assert (found["status"], found["waiting"]) == ("settled", 0)
    assert pending(carol) == []
    assert statuses(carol, question) == {
        "user": "superseded",
        "paper": "active",
        "tool": "archived",
        "again": "superseded",  # by the one that says the same
    }
    assert value_of(found, "$84,000")["chosen"]
    assert [one["value"] for one in found["ruling"]["chosen"]] == ["$84,000"]
    ruled = rulings(carol)
    assert {one["value"] for ruling in ruled for one in ruling["ruled_out"]} == {"$48,000", "$90,000"}
    assert {ruling["note"] for ruling in ruled} == {"signed on Monday"}


def test_choosing_what_stands_protects_it(carol, question, store_tool_claim):
    found = choose(carol, case(carol), "$48,000")
    assert statuses(carol, question) == {
        "user": "active",
        "paper": "archived",
        "tool": "archived",
        "again": "archived",
    }
    assert [(one["value"], one["chosen"], one["ruled_out"]) for one in found["values"]] == [
        ("$48,000", True, False),
        ("$90,000", False, True),
        ("$84,000", False, True),
    ]
    assert store_tool_claim("$84,000")["status"] == "archived"


def test_several_values_are_kept(carol, question):
    found = choose(carol, case(carol), "$48,000", "$84,000")
    assert {one["value"] for one in found["values"] if one["stands"]} == {"$48,000", "$84,000"}
    assert status(carol, question["tool"]) == "archived"
    assert found["waiting"] == 0


def test_two_challengers_are_kept_without_what_stood(carol, question):
    found = choose(carol, case(carol), "$90,000", "$84,000")
    assert {one["value"] for one in found["values"] if one["stands"]} == {"$90,000", "$84,000"}
    assert status(carol, question["user"]) == "superseded"


def test_values_are_split_by_period(carol, store_claim, read_out):
    store_claim("$48,000", valid_from="2025-01-01T00:00:00Z")
    read_out("$84,000", valid_from="2026-01-01T00:00:00Z")
    choose(carol, case(carol), "$48,000", "$84,000", keep="period")
    claims = get(carol, "claims", namespace="acme:main", as_of="2025-06-01T00:00:00Z")["results"]
    ends = {one["value"]: (one["valid_from"], one["valid_until"]) for one in claims}
    assert ends["$48,000"] == ("2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z")


def test_what_is_typed_holds(carol, question):
    typed = {"content": "It is worth $77,000 since May.", "value": "$77,000"}
    found = settle(carol, case(carol), correction=typed)
    assert [one["value"] for one in found["values"] if one["stands"]] == ["$77,000"]
    assert set(statuses(carol, question).values()) == {"superseded", "archived"}
    assert found["ruling"]["edited"]


def test_what_is_typed_may_be_what_others_say(carol, question):
    typed = {"content": "It is worth $84,000.", "value": "$84,000"}
    found = settle(carol, case(carol), correction=typed)
    assert found["waiting"] == 0
    assert [one["value"] for one in found["values"] if one["stands"]] == ["$84,000"]


@pytest.mark.parametrize(
    "decision",
    [
        {"chosen": ["$84,000"]},
        {"chosen": ["$48,000"]},
        {"chosen": ["$48,000", "$84,000"]},
        {"chosen": ["$90,000", "$84,000"]},
        {"chosen": ["$48,000", "$90,000"], "keep": "predicate"},
        {"correction": {"content": "It is worth $77,000.", "value": "$77,000"}},
    ],
)
def test_a_decision_is_taken_back_wholly(carol, question, decision):
    before, former = case(carol), statuses(carol, question)
    ids = [value_of(before, one)["id"] for one in decision.pop("chosen", [])]
    settle(carol, before, **({"choose": ids} if ids else {}), **decision)
    after = take_back(carol, before)
    assert statuses(carol, question) == former
    changing = ("revision",)
    assert {k: v for k, v in after.items() if k not in changing} == {
        k: v for k, v in before.items() if k not in changing
    }
    assert rulings(carol) == []


def test_a_decision_on_what_was_not_seen_is_refused(carol, question, store_tool_claim):
    found = case(carol)
    store_tool_claim("$99,000")
    answer = choose(carol, found, "$84,000", code=409)
    assert answer["code"] == "stale_revision"
    assert statuses(carol, question)["user"] == "active"


def test_a_settled_case_is_not_settled_again(carol, question):
    found = choose(carol, case(carol), "$84,000")
    assert choose(carol, found, "$84,000", code=409)["code"] == "already_resolved"
    assert get(carol, "cases")["results"] == []
    assert case(carol, status="settled")["id"] == found["id"]


def test_all_of_it_is_decided_or_nothing(carol, question, project, agent_of):
    low = agent_of(project, owner="low", ceiling="document", verbs=["read", "review"])
    choose(low, case(low), "$84,000", code=403)
    assert case(carol)["waiting"] == 3
    assert rulings(carol) == []


def test_a_key_does_not_settle_what_its_owner_wrote(carol, question, alice, project, agent_of):
    judge = agent_of(project, owner="paper", ceiling="user_explicit", verbs=["read", "review"])
    choose(judge, case(judge), "$84,000", code=403)
    reader = agent_of(project, owner="reader", ceiling="user_explicit", verbs=["read"])
    choose(reader, case(reader), "$84,000", code=403)
    assert statuses(carol, question)["user"] == "active"


def test_a_value_that_is_none_of_the_case_is_refused(carol, question):
    assert settle(carol, case(carol), choose=["0123456789abcdef"], code=409)["code"] == "not_applicable"
    assert settle(carol, case(carol), code=400)["code"] == "validation"


def test_a_text_that_contradicts_is_a_value_too(carol, store_claim, bob):
    store_claim("$750", claim=BUDGET)
    body = {"namespace": "acme:main", "content": "The user's budget is $13.", "provenance": {"source": "tool_output"}}
    assert bob.client.post("/api/v1/fragments", body, format="json").status_code == 201
    found = case(carol)
    assert {one["value"]: one["stands"] for one in found["values"]} == {"$750": True, "$13": False}
    choose(carol, found, "$750")
    assert pending(carol) == []


def shown(found):
    return {
        one["value"]: (one["negated"], one["stands"], one["ruled_out"], one["waiting"], one["excerpt"]["text"])
        for one in found["values"]
        if one["value"] != "$750" or one["negated"]
    }


def tell(agent, content):
    body = {"namespace": "acme:main", "content": content, "provenance": {"source": "tool_output"}}
    answer = agent.client.post("/api/v1/fragments", body, format="json")
    assert answer.status_code == 201
    return answer.json()["id"]


def test_a_text_that_lost_is_told_of_until_it_is_forgotten(carol, store_claim, alice, bob):
    store_claim("$750", claim=BUDGET)
    text = "The user's budget is $13."
    told = tell(bob, text)
    choose(carol, case(carol), "$750")
    settled = case(carol, status="settled")
    assert shown(settled) == {"$13": (False, False, True, 0, text)}
    assert shown(take_back(carol, settled)) == {"$13": (False, False, False, 1, text)}
    choose(carol, case(carol), "$750")
    assert alice.client.delete(f"/api/v1/fragments/{told}").status_code == 204
    assert "$13" not in json.dumps(get(carol, f"cases/{settled['id']}"))


def test_a_text_that_won_is_told_of_once(carol, store_claim, bob):
    store_claim("$750", claim=BUDGET)
    told = tell(bob, "The user's budget is $13.")
    choose(carol, case(carol), "$13")
    (value,) = [one for one in case(carol, status="settled")["values"] if one["value"] == "$13"]
    assert (value["stands"], value["chosen"], value["memories"]) == (True, True, [told])


def test_a_denial_that_won_is_told_of_and_hinders_no_other_value(carol, store_claim, bob, store_tool_claim, read_out):
    store_claim("$750", claim=BUDGET)
    text = "The user's budget is not $750."
    tell(bob, text)
    found = case(carol)
    (denial,) = [one for one in found["values"] if one["negated"]]
    settle(carol, found, choose=[denial["id"]])
    settled = case(carol, status="settled")
    assert shown(settled) == {"$750": (True, True, False, 0, text)}
    store_tool_claim("$20", claim=BUDGET)
    read_out("$84", claim=BUDGET)
    found = case(carol)
    settle(carol, found, choose=[denial["id"]], code=409)
    choose(carol, found, "$20")
    assert pending(carol) == []
    assert ("$20", True) in [(one["value"], one["stands"]) for one in get(carol, f"cases/{found['id']}")["values"]]


def test_filters_name_what_a_challenger_is(carol, question, store_claim, read_out):
    other = {"subject": "globex", "predicate": "head office"}
    store_claim("Berlin", claim=other)
    read_out("Paris", claim=other)
    everything = {one["subject"] for one in get(carol, "cases")["results"]}
    assert everything == {"acme", "globex"}
    paper = get(carol, "conflicts")["results"][0]["newcomer"]["owner"]
    for query, subjects in (
        ({"subject": "Globex"}, {"globex"}),
        ({"predicate": "contract value"}, {"acme"}),
        ({"owner": paper}, {"acme", "globex"}),
        ({"pattern": "worth*90"}, {"acme"}),
        ({"pattern": "WORTH paris"}, {"globex"}),
        ({"pattern": "."}, {"acme", "globex"}),
        ({"pattern": "w.rth"}, set()),
        ({"namespace": "acme:other"}, set()),
        ({"source": "nobody"}, set()),
    ):
        assert {one["subject"] for one in get(carol, "cases", **query)["results"]} == subjects, query


def test_pages_follow_each_other_in_every_order(carol, store_claim, read_out):
    for n in range(5):
        about = {"subject": f"acme {n}", "predicate": "contract value"}
        store_claim("$1", claim=about)
        for value in range(n % 3 + 1):
            read_out(f"$2{value}", claim=about)
    for sort in ("oldest", "newest", "most"):
        seen, page = [], get(carol, "cases", sort=sort, limit=2)
        seen += [one["subject"] for one in page["results"]]
        while page["next"]:
            page = carol.client.get(page["next"]).json()
            seen += [one["subject"] for one in page["results"]]
        assert len(seen) == len(set(seen)) == 5
        if sort == "oldest":
            assert seen == sorted(seen)
        if sort == "newest":
            assert seen == sorted(seen, reverse=True)
    assert seen[0] == "acme 2"


def test_what_waits_is_counted_by_source_owner_namespace_and_predicate(carol, question):
    by = {
        name: get(carol, "cases/groups", by=name)["results"] for name in ("source", "owner", "namespace", "predicate")
    }
    assert {(one["name"], one["cases"], one["waiting"]) for one in by["owner"]} == {
        ("bob", 1, 1),
        ("paper", 1, 1),
        ("scan", 1, 1),
    }
    assert [(one["name"], one["waiting"]) for one in by["namespace"]] == [("acme:main", 3)]
    assert [(one["id"], one["waiting"]) for one in by["predicate"]] == [("contract value", 3)]
    assert sum(one["waiting"] for one in by["source"]) == 3
    for name, groups in by.items():
        for one in groups:
            assert len(get(carol, "cases", **{name: one["id"]})["results"]) == one["cases"]


def test_what_a_source_said_is_cleared_away(carol, question):
    owner = only([one for one in get(carol, "cases/groups", by="owner")["results"] if one["name"] == "bob"])["id"]
    asked = {"owner": owner, "note": "that tool was broken"}
    seen = carol.client.post("/api/v1/cases/clear", {**asked, "dry_run": True}, format="json").json()
    assert (seen["matched"], seen["cleared"], seen["left"]) == (1, 0, 1)
    assert case(carol)["waiting"] == 3
    done = carol.client.post("/api/v1/cases/clear", asked, format="json").json()
    assert (done["matched"], done["cleared"], done["refused"], done["left"]) == (1, 1, [], 0)
    assert (status(carol, question["tool"]), status(carol, question["paper"])) == ("archived", "quarantined")


def test_clearing_names_what_it_clears(carol, question, project, agent_of):
    assert carol.client.post("/api/v1/cases/clear", {}, format="json").status_code == 400
    reader = agent_of(project, owner="reader", verbs=["read", "write"])
    assert reader.client.post("/api/v1/cases/clear", {"pattern": "worth"}, format="json").status_code == 403


@pytest.mark.usefixtures("question")
@pytest.mark.parametrize("path", ["cases/nonsense", "cases/YWJj", "cases/%C3%A9"])
def test_what_is_no_case_is_not_found(carol, path):
    assert carol.client.get(f"/api/v1/{path}").status_code == 404


def test_a_case_is_only_read_by_who_reads_its_namespace(carol, question, project, agent_of):
    found = case(carol)
    assert get(carol, f"cases/{found['id']}") == found
    foreign = agent_of(keys.ensure_project("globex"), owner="eve")
    elsewhere = agent_of(project, owner="dan", namespaces=["acme:other"])
    for agent in (foreign, elsewhere):
        assert agent.client.get(f"/api/v1/cases/{found['id']}").status_code == 404
        assert get(agent, "cases")["results"] == []


def test_a_case_of_a_user_is_nobody_elses(carol, store_claim, read_out, alice, bob):
    for user, values in (("ann", ("$1", "$2")), ("ben", ("$3", "$4"))):
        for agent, source, value in ((alice, "user_explicit", values[0]), (bob, "tool_output", values[1])):
            body = {
                "namespace": "acme:main",
                "user": user,
                "content": f"The budget is {value}.",
                "claim": {"subject": "user", "predicate": "budget", "value": value},
                "provenance": {"source": source},
            }
            assert agent.client.post("/api/v1/fragments", body, format="json").status_code == 201
    assert get(carol, "cases")["results"] == []
    found = case(carol, user="ann")
    assert (found["user"], {one["value"] for one in found["values"]}) == ("ann", {"$1", "$2"})
    assert len(get(carol, "cases", all_users="true")["results"]) == 2


def test_a_decision_made_otherwise_is_not_undone_as_one_of_a_case(carol, question):
    found = case(carol)
    for one in pending(carol):
        row = get(carol, f"conflicts/{one['id']}")
        if row["status"] == "pending":
            decide(carol, one["id"], "reject")
    assert take_back(carol, found, code=409)["code"] == "cannot_undo"


@pytest.mark.usefixtures("question")
def test_answers_of_another_project_are_not_counted(carol, charlie, question, alice):
    context(alice)
    ids = [uuid.UUID(question["user"]["id"])]
    for agent, counted in ((carol, {0: 1}), (charlie, {})):
        with access.enter(agent.principal, why="test"):
            found = Receipt.objects.within(agent.principal.project_id).carrying([ids])
        assert {place: carried.answers for place, carried in found.items()} == counted


def test_of_two_reviewers_at_one_time_one_decides(committed, agent_of):
    writers = [agent_of(committed, owner=f"w{n}", ceiling=c) for n, c in enumerate(("user_explicit", "document"))]
    judges = [agent_of(committed, owner=f"j{n}", ceiling="user_explicit", verbs=["read", "review"]) for n in range(2)]
    for writer, source, value in zip(writers, ("user_explicit", "document"), ("$1", "$2"), strict=True):
        body = {
            "namespace": f"{committed.name}:main",
            "content": f"It is worth {value}.",
            "claim": {"subject": "acme", "predicate": "contract value", "value": value},
            "provenance": {"source": source},
        }
        assert writer.client.post("/api/v1/fragments", body, format="json").status_code == 201
    found = case(judges[0])
    path, codes, start = f"/api/v1/cases/{found['id']}/resolve", [], threading.Barrier(2)

    def decide_for(judge, value):
        start.wait()
        body = {"revision": found["revision"], "choose": [value_of(found, value)["id"]]}
        codes.append(judge.client.post(path, body, format="json").status_code)
        connections.close_all()

    both = [threading.Thread(target=decide_for, args=one) for one in zip(judges, ("$1", "$2"), strict=True)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert sorted(codes) == [200, 409]
    assert case(judges[0], status="settled")["waiting"] == 0
