"""Several claims of one fragment: each has an id and a status of its own (docs/spec.md §4.4)."""

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from memories import access, jobs
from memories.mcp.callers import Caller
from memories.mcp.tools import list_claims
from memories.models import Claim, Fragment
from memories.rest.users import address_of

HOME, BUDGET, DOG = ("user", "lives in"), ("user", "budget"), ("user", "dog name")


def claim(key, value, **more):
    return {"subject": key[0], "predicate": key[1], "value": value, **more}


@pytest.fixture
def carol(project, agent_of):
    """A reviewer whose owner wrote nothing."""
    return agent_of(project, owner="carol", ceiling="user_explicit", verbs=["read", "write", "review", "admin"])


@pytest.fixture
def store_claims(alice):
    """Stores a text with several claims, by default as Alice's user says it."""

    def post(*claims, by=alice, source="user_explicit", content=None, **more):
        text = content or ", ".join(f"{c['predicate']} {c['value']}" for c in claims) + "."
        body = {"namespace": "acme:main", "content": text, "claims": list(claims), **more}
        answer = by.client.post("/api/v1/fragments", body | {"provenance": {"source": source}}, format="json")
        assert answer.status_code in (200, 201), answer.json()
        return answer.json()

    return post


@pytest.fixture
def store_tool_claims(store_claims, bob):
    """What a tool says."""
    return lambda *claims, **more: store_claims(*claims, by=bob, source="tool_output", **more)


def read(agent, fragment) -> Any:
    answer = agent.client.get(f"/api/v1/fragments/{fragment['id']}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def standing(agent, fragment) -> list[Any]:
    """The fragment's status, and those of its claims."""
    shown = read(agent, fragment)
    return [shown["status"], *(one["status"] for one in shown["claims"])]


def pending(agent, **query) -> list[Any]:
    found: list[Any] = agent.client.get("/api/v1/conflicts", query).json()["results"]
    return found


def decide(agent, conflict, action, **more) -> Any:
    revision = agent.client.get(f"/api/v1/conflicts/{conflict['id']}").json()["revision"]
    body = {"action": action, "revision": revision, **more}
    answer = agent.client.post(f"/api/v1/conflicts/{conflict['id']}/resolve", body, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def undo(agent, conflict) -> Any:
    answer = agent.client.post(f"/api/v1/conflicts/{conflict['id']}/undo", {}, format="json")
    assert answer.status_code == 200, answer.json()
    return answer.json()


@pytest.fixture
def rows(principal):
    """All that the tables of belief hold, but for what moves with time."""

    def take():
        with access.enter(principal, why="test"), connection.cursor() as cursor:
            cursor.execute("SELECT to_jsonb(c) - 'last_seen_at' FROM memories_claim c ORDER BY c.id")
            claims = [json.loads(row) for (row,) in cursor]
            cursor.execute(
                "SELECT f.id, f.status, f.superseded_by_id, f.archived_reason FROM memories_fragment f ORDER BY 1"
            )
            fragments = cursor.fetchall()
            cursor.execute("SELECT l.fragment_id, l.other_id, l.kind FROM memories_link l ORDER BY 1, 2, 3")
            links = cursor.fetchall()
            cursor.execute(
                """SELECT c.id, c.newcomer_id, c.existing_id, c.newcomer_claim, c.existing_claim, c.resolution, c.reason
                   FROM conflicts_pendingconflict c ORDER BY 1"""
            )
            return claims, fragments, links, cursor.fetchall()

    return take


def test_a_claim_that_loses_waits_while_its_fragment_stands(store_claims, store_tool_claims, alice):
    store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    assert standing(alice, told) == ["active", "quarantined", "active"]
    (conflict,) = pending(alice)
    assert conflict["new_claim"]["value"] == "Bergen"
    assert conflict["new_claim"]["id"] == told["claims"][0]["id"] == told["id"]
    assert told["claims"][1]["id"] != told["id"]
    assert [one["id"] for one in told["pending_conflicts"]] == [conflict["id"]]


def test_a_fragment_is_quarantined_when_all_its_claims_lose(store_claims, store_tool_claims, alice):
    store_claims(claim(HOME, "Oslo"), claim(DOG, "Rex"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Max"))
    assert standing(alice, told) == ["quarantined", "quarantined", "quarantined"]
    assert len(pending(alice)) == 2


def test_a_fragment_whose_claims_are_replaced_one_by_one_leaves_with_the_last(store_claims, store_tool_claims, alice):
    old = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    first = store_claims(claim(HOME, "Oslo"))
    assert (first["superseded"], standing(alice, old)) == ([], ["active", "superseded", "active"])
    assert read(alice, old)["claims"][0]["superseded_by"] == first["id"]
    last = store_claims(claim(DOG, "Max"))
    assert last["superseded"] == [old["id"]]
    shown = read(alice, old)
    assert (shown["status"], shown["superseded_by"]) == ("superseded", last["id"])


def test_what_says_nothing_new_is_deduplicated_and_what_does_stands_beside(store_claims, alice, count):
    kept = store_claims(claim(HOME, "Oslo"), claim(DOG, "Rex"))
    again = store_claims(claim(DOG, "Rex"), claim(HOME, "Oslo"), content="He said so again.")
    assert (again["id"], again["deduplicated"]) == (kept["id"], True)
    more = store_claims(claim(DOG, "Rex"), claim(BUDGET, "$5"), content="Rex may cost $5.")
    assert (more["deduplicated"], standing(alice, more)) == (False, ["active", "active", "active"])
    assert count(Fragment) == 2


def test_a_repeated_claim_corroborates_what_stands(store_claims, store_tool_claims, alice):
    kept = store_tool_claims(claim(DOG, "Rex"))
    store_claims(claim(DOG, "Rex"), claim(BUDGET, "$5"), source="tool_output", provenance={"source": "tool_output"})
    assert read(alice, kept)["provenance"]["corroboration"] == 2


def test_accepting_one_claim_leaves_the_others_as_they_are(store_claims, store_tool_claims, alice, carol, rows):
    held = store_claims(claim(HOME, "Oslo"), claim(DOG, "Rex"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Max"))
    before = rows()
    (home,) = [one for one in pending(carol) if one["new_claim"]["value"] == "Bergen"]
    decide(carol, home, "supersede")
    assert standing(alice, told) == ["active", "active", "quarantined"]
    assert standing(alice, held) == ["active", "superseded", "active"]
    assert [one["new_claim"]["value"] for one in pending(carol)] == ["Max"]
    undo(carol, home)
    assert rows() == before


@pytest.mark.parametrize(
    ("action", "more", "mine"),
    [
        ("reject", {}, ["active", "archived", "active"]),
        ("keep_both", {"keep": "pair"}, ["active", "active", "active"]),
        ("keep_both", {"keep": "predicate"}, ["active", "active", "active"]),
        (
            "supersede",
            {"correction": {"content": "They live in Voss.", "value": "Voss"}},
            ["active", "archived", "active"],
        ),
    ],
)
def test_a_decision_concerns_one_claim_and_is_undone_exactly(
    store_claims, store_tool_claims, alice, carol, rows, action, more, mine
):
    store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(BUDGET, "$5"))
    before = rows()
    (conflict,) = pending(carol)
    decide(carol, conflict, action, **more)
    assert standing(alice, told) == mine
    undo(carol, conflict)
    after = rows()
    made = {one[0] for one in after[1]} - {one[0] for one in before[1]}
    known = [row for row in after[1] if row[0] not in made]
    claims = [row for row in after[0] if row["fragment_id"] not in set(map(str, made))]
    assert (claims, known) == before[:2]
    assert after[3] == before[3]


def test_rejecting_the_last_claim_that_waits_archives_the_fragment(store_claims, store_tool_claims, alice, carol):
    store_claims(claim(HOME, "Oslo"), claim(DOG, "Rex"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Max"))
    for conflict in pending(carol):
        decide(carol, conflict, "reject")
    assert standing(alice, told) == ["archived", "archived", "archived"]


def test_what_was_replaced_in_part_and_then_rejected_is_superseded(store_claims, store_tool_claims, alice, carol, rows):
    store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    heir = store_claims(claim(DOG, "Max"))
    assert standing(alice, told) == ["quarantined", "quarantined", "superseded"]
    before = rows()
    (conflict,) = pending(carol)
    decide(carol, conflict, "reject")
    assert (standing(alice, told), read(alice, told)["superseded_by"]) == (
        ["superseded", "archived", "superseded"],
        heir["id"],
    )
    undo(carol, conflict)
    assert rows() == before


def test_a_value_that_was_rejected_comes_back_archived_beside_one_that_stands(
    store_claims, store_tool_claims, alice, carol
):
    store_claims(claim(HOME, "Oslo"))
    decide(carol, pending(carol)[0], "reject") if pending(carol) else None
    told = store_tool_claims(claim(HOME, "Bergen"))
    decide(carol, pending(carol)[0], "reject")
    again = store_tool_claims(claim(HOME, "Bergen"), claim(BUDGET, "$5"))
    assert (standing(alice, told), standing(alice, again)) == (
        ["archived", "archived"],
        ["active", "archived", "active"],
    )


def test_what_one_winner_of_several_had_replaced_stands_again_when_it_is_forgotten(
    store_claims, store_tool_claims, alice
):
    old = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    first, last = store_claims(claim(HOME, "Oslo")), store_claims(claim(DOG, "Max"))
    assert standing(alice, old) == ["superseded", "superseded", "superseded"]
    assert alice.client.delete(f"/api/v1/fragments/{first['id']}").status_code in (200, 204)
    assert standing(alice, old) == ["active", "active", "superseded"]
    assert alice.client.delete(f"/api/v1/fragments/{last['id']}").status_code in (200, 204)
    assert standing(alice, old) == ["active", "active", "active"]


def test_the_text_that_changes_takes_its_claims_through_the_gate(store_claims, store_tool_claims, bob, alice):
    store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(DOG, "Rex"), claim(BUDGET, "$5"))
    change = {"claims": [claim(DOG, "Max"), claim(HOME, "Bergen"), claim(BUDGET, "$5")]}
    answer = bob.client.patch(f"/api/v1/fragments/{told['id']}", change, format="json")
    assert answer.status_code == 200, answer.json()
    assert standing(alice, told) == ["active", "active", "quarantined", "active"]
    change = {"content": "Only the dog is named, Max."}
    assert bob.client.patch(f"/api/v1/fragments/{told['id']}", change, format="json").status_code == 200
    assert standing(alice, told) == ["active", "active", "quarantined", "active"]
    assert len(pending(alice)) == 1


def test_what_is_put_away_comes_back_as_it_was(store_claims, store_tool_claims, bob, alice):
    store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    assert bob.client.post(f"/api/v1/fragments/{told['id']}/archive", {}, format="json").status_code == 200
    assert standing(alice, told) == ["archived", "archived", "archived"]
    assert bob.client.post(f"/api/v1/fragments/{told['id']}/unarchive", {}, format="json").status_code == 200
    assert standing(alice, told) == ["active", "quarantined", "active"]
    assert len(pending(alice)) == 1


def test_a_claim_that_nobody_opposes_any_more_stands_after_a_consolidation(
    store_claims, store_tool_claims, alice, bob, principal
):
    held = store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    assert alice.client.post(f"/api/v1/fragments/{held['id']}/archive", {}, format="json").status_code == 200
    wish = {"kind": "consolidate", "options": {}, "dry_run": False, "wake_up": False}
    with access.enter(principal, why="test"):
        place = access.writable(principal, "acme:main")
    jobs.run(principal, jobs.start(principal, **wish, namespace=place, now=timezone.now()).id)
    assert standing(alice, told) == ["active", "active", "active"]


@pytest.mark.parametrize("both", [True, False])
def test_claims_that_exclude_each_other_are_refused(alice, both):
    body: dict[str, Any] = {"namespace": "acme:main", "content": "Oslo or Bergen.", "claims": [claim(HOME, "Oslo")]}
    body |= {"claim": claim(HOME, "Oslo")} if both else {}
    body["claims"] += [] if both else [claim(HOME, "Bergen")]
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 400


def test_a_fragment_has_twenty_claims_at_most(alice):
    body = {"namespace": "acme:main", "content": "Much.", "claims": [claim(("user", f"p{n}"), "x") for n in range(21)]}
    assert alice.client.post("/api/v1/fragments", body, format="json").status_code == 400


@pytest.mark.examples
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7])
def test_pages_of_claims_hold_each_claim_once(store_claims, alice, limit, known):
    before, five, after = (
        store_claims(*(claim(("user", f"{name} {n}"), name) for n in range(count)))
        for name, count in (("first", 1), ("second", 5), ("third", 2))
    )

    def named(row):
        return row["fragment_id"], row["predicate"]

    asked = {"known_at": timezone.now().isoformat()} if known else {}
    answer, seen, sizes = alice.client.get("/api/v1/claims", {"limit": limit, **asked}).json(), [], []
    while True:
        seen += [named(row) for row in answer["results"]]
        sizes.append(len(answer["results"]))
        if not answer["next"]:
            break
        answer = alice.client.get(answer["next"]).json()
    wanted = [(one["id"], c["predicate"]) for one in (after, five, before) for c in read(alice, one)["claims"]]
    assert [fragment for fragment, _ in seen] == [fragment for fragment, _ in wanted]
    assert sorted(seen) == sorted(wanted)
    assert known or seen == wanted
    assert sizes == [limit] * (8 // limit) + [8 % limit] * bool(8 % limit)
    back = []
    while answer["previous"]:
        answer = alice.client.get(answer["previous"]).json()
        back = [named(row) for row in answer["results"]] + back
    assert back == seen[: len(seen) - sizes[-1]]


def test_a_tool_of_agents_lists_no_more_claims_than_it_was_asked_for(store_claims, principal, alice):
    store_claims(*(claim(("user", f"thing {n}"), str(n)) for n in range(5)))
    caller = Caller(alice.principal, "acme:main")
    assert len(list_claims(caller, limit=2)["claims"]) == 2


def test_history_and_the_list_show_the_right_claim_of_several(store_claims, store_tool_claims, alice):
    store_claims(claim(HOME, "Oslo"))
    told = store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"))
    listed = alice.client.get("/api/v1/claims", {"subject": "user", "predicate": "dog name"}).json()["results"]
    assert [(one["value"], one["fragment_id"]) for one in listed] == [("Rex", told["id"])]
    waits = alice.client.get("/api/v1/claims", {"subject": "user", "status": "quarantined"}).json()["results"]
    assert [one["value"] for one in waits] == ["Bergen"]
    found = alice.client.get("/api/v1/claims/timeline", {"subject": "user", "predicate": "lives in"}).json()["results"]
    assert {(one["value"], one["status"]) for one in found} == {("Oslo", "active"), ("Bergen", "quarantined")}


def test_a_context_labels_the_sentence_that_nobody_believes(store_claims, store_tool_claims, alice):
    store_claims(claim(HOME, "Oslo"))
    store_tool_claims(claim(HOME, "Bergen"), claim(DOG, "Rex"), content="I live in Bergen. My dog is called Rex.")
    asked = {"namespace": "acme:main", "query": "Bergen Rex"}
    block = alice.client.post("/api/v1/context", asked, format="json").json()
    assert "not believed yet: user lives in Bergen" in str(block)


@pytest.mark.parametrize(
    "wrong",
    [
        "UPDATE memories_claim SET id = gen_random_uuid()",
        "UPDATE memories_claim SET verdict = 'active'",
        "UPDATE memories_claim SET position = 20",
        "UPDATE memories_claim SET span_start = 5, span_end = 5",
    ],
)
def test_the_database_keeps_what_a_claim_is(store_claims, principal, wrong):
    store_claims(claim(HOME, "Oslo"))
    wants = (pytest.raises(IntegrityError), transaction.atomic())
    with access.enter(principal, why="test"), connection.cursor() as cursor, wants[0], wants[1]:
        cursor.execute(wrong)


def test_the_status_of_a_claim_follows_its_fragment_and_its_verdict(store_claims, principal):
    told = store_claims(claim(HOME, "Oslo"), claim(DOG, "Rex"))
    with access.enter(principal, why="test"):
        mine = Claim.objects.filter(fragment=told["id"]).order_by("position")
        mine.filter(position=1).update(verdict="superseded")
        assert list(mine.values_list("status", flat=True)) == ["active", "superseded"]
        for status, wanted in (("quarantined", "superseded"), ("archived", "archived"), ("active", "superseded")):
            Fragment.objects.filter(id=told["id"]).update(status=status)
            assert list(mine.values_list("status", flat=True)) == [status, wanted]


def test_a_batch_and_what_is_kept_of_a_user_hold_each_claim(alice):
    """Stored in one batch, one claim waiting; handed out over HTTP and at the command line."""
    told = [
        {"content": "Ada lives in Oslo.", "claims": [claim(HOME, "Oslo")], "provenance": {"source": "user_explicit"}},
        {"content": "Ada of Bergen has Rex.", "claims": [claim(HOME, "Bergen"), claim(DOG, "Rex")]},
    ]
    body = {"fragments": [{"namespace": "acme:main", "user": "ada", **one} for one in told]}
    answer = alice.client.post("/api/v1/fragments/batch", body, format="json")
    assert answer.status_code in (200, 201), answer.json()
    _, two = [item.get("fragment", item) for item in answer.json()["results"]]
    assert [(one["value"], one["status"]) for one in two["claims"]] == [("Bergen", "quarantined"), ("Rex", "active")]
    over_http = alice.client.get(f"/api/v1/users/{address_of('ada')}/export").json()
    out = io.StringIO()
    call_command("users", "export", "ada", "--project", "acme", stdout=out)
    for whole in (over_http, json.loads(out.getvalue())):
        (kept,) = [one for one in whole["memories"] if one["content"] == "Ada of Bergen has Rex."]
        assert [(c["value"], c["status"]) for c in kept["claims"]] == [("Bergen", "quarantined"), ("Rex", "active")]


def test_an_owners_own_weaker_word_waits_before_the_stronger_one(store_claims, alice):
    stronger = store_claims(claim(BUDGET, "$750"))
    weaker = store_claims(claim(BUDGET, "$0"), source="tool_output")
    assert (weaker["status"], weaker["superseded"]) == ("quarantined", [])
    denial = store_claims(source="tool_output", content="My budget is no longer $750.", extract_claim=True)
    assert denial["superseded"] == []
    assert read(alice, stronger)["status"] == "active"
