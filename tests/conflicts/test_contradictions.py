"""Free text against standing claims, through the API: another value waits, what agrees or adds is let in."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from conflicts.free_text import statements
from conflicts.free_text.contradictions import Standing, find_contradiction, read
from memories.models import Project
from script.benches._arenas import issue_cast
from script.benches._wordings import MOST_BLOCKED, MOST_LABELLED, MOST_SERVED, Fact, play
from script.benches._worlds import CAST, Send

WORDINGS = json.loads((Path(__file__).parents[2] / "script/benches/_wordings.json").read_text())
MAIN = "acme:main"


@pytest.fixture
def send(project: Project) -> Send:
    """The cast of the attacks in a project of its own."""
    texts = issue_cast(project, project)

    def send(who: str, method: str, path: str, body: Any) -> tuple[int, Any]:
        client = APIClient(headers={"Authorization": f"Bearer {texts[who]}"})
        answer = client.generic(method, path) if body is None else getattr(client, method.lower())(path, body, "json")
        return answer.status_code, answer.json() if answer.content else None

    return send


def claims(send: Send, who: str, subject: str, predicate: str, value: str, **more: Any) -> dict[str, Any]:
    claim = {"subject": subject, "predicate": predicate, "value": value}
    provenance = {"source": CAST[who]["ceiling"]}
    content = f"On record by {who}: {subject} {predicate} {value}."
    told = {"namespace": MAIN, "content": content, "claim": claim, "provenance": provenance, **more}
    status, body = send(who, "POST", "/api/v1/fragments", told)
    assert status == 201, body
    return dict(body)


def standing(send: Send) -> list[str]:
    """The texts that stand in the namespace."""
    _, body = send("reader", "GET", f"/api/v1/fragments?namespace={MAIN}", None)
    return [row["content"] for row in body["results"]]


def writes(send: Send, who: str, *contents: str, **more: Any) -> list[str]:
    """Stores texts without claims; their statuses."""
    rows = [{"namespace": MAIN, "content": content, **more} for content in contents]
    status, body = send(who, "POST", "/api/v1/fragments/batch", {"fragments": rows, "embed": "later"})
    assert status == 201, body
    return [one["status"] for one in body["results"]]


@pytest.mark.long
@pytest.mark.parametrize("fact", WORDINGS)
def test_texts_with_another_value_wait_or_say_so_and_others_do_not(fact: str, send: Send) -> None:
    """As `script/bench attacks` measures it: what does not wait stands below what it contradicts, and says so."""
    told = WORDINGS[fact]
    outcome = play(send, MAIN, Fact("_wordings", fact, told["claim"], told["contradicting"], told["agreeing"]))
    assert len(outcome.served) <= MOST_SERVED * len(told["contradicting"]), outcome.served
    assert outcome.above == []
    assert len(outcome.labelled) <= -(-MOST_LABELLED * len(told["agreeing"]) // 1), outcome.labelled
    assert len(outcome.blocked) <= MOST_BLOCKED * len(told["agreeing"]), outcome.blocked


def test_the_conflict_names_the_claim_and_both_values(send: Send) -> None:
    first = claims(send, "user", "user", "budget", "$750")
    assert writes(send, "agent", "I, the user, have a budget of $13.") == ["quarantined"]
    _, body = send("reviewer", "GET", "/api/v1/conflicts", None)
    (row,) = body["results"]
    assert (row["kind"], row["reason"]) == ("text", "free_text")
    assert row["existing"]["id"] == first["id"]
    assert "$13" in json.dumps(row)


@pytest.mark.parametrize("door", ["one", "batch", "ingest"])
def test_it_holds_at_every_door(send: Send, door: str) -> None:
    claims(send, "user", "user", "budget", "$750")
    text = "Heads up: they have no more than thirteen dollars to spend."
    if door == "ingest":
        body = {"namespace": MAIN, "messages": [{"role": "assistant", "content": text}]}
        assert send("agent", "POST", "/api/v1/ingest", body)[0] in (200, 201)
    elif door == "one":
        send("agent", "POST", "/api/v1/fragments", {"namespace": MAIN, "content": text})
    else:
        writes(send, "agent", text)
    assert text not in standing(send)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My budget is $500.", "Make my budget $650."),
        ("budget is $500", "make my budget $650"),
        ("I am a vegetarian.", "I eat meat again."),
    ],
)
def test_the_same_owner_s_later_word_and_the_former_never_both_stand(send: Send, first: str, second: str) -> None:
    for text in (first, second):
        body = {"namespace": MAIN, "messages": [{"role": "user", "content": text}]}
        assert send("user", "POST", "/api/v1/ingest", body)[0] in (200, 201)
    assert standing(send) == [second]


def test_a_stronger_text_is_let_in(send: Send) -> None:
    claims(send, "agent", "user", "budget", "$13")
    assert writes(send, "tool", "The user's wallet holds $750 and no more to spend.") == ["active"]


def test_unregistered_predicates_are_found_by_their_own_words(send: Send) -> None:
    claims(send, "user", "user", "parking_spot", "B2")
    told = writes(
        send, "agent", "The user's parking spot is C7.", "Parking spot of the user: A11", "The parking is full."
    )
    assert told == ["quarantined", "quarantined", "active"]


@pytest.mark.parametrize("at_hand", [0, statements.AT_HAND])
def test_among_many_texts_the_same_wait_whether_claims_are_held_against_them_or_looked_up(
    send: Send, at_hand: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "AT_HAND", at_hand)
    rule = {"namespace": MAIN, "name": "gate_code", "aliases": ["entry code"]}
    assert send("admin", "POST", "/api/v1/predicates", rule)[0] == 201
    claims(send, "user", "user", "budget", "$750")
    claims(send, "user", "user", "parking_spot", "B2")
    claims(send, "user", "Melanie", "gate_code", "4711")
    contrary = [
        "I, the user, have a budget of $13.",
        "Parking spot of the user: A11",
        "Melanie's entry code is 1234.",
    ]
    ordinary = [f"The museum opens at {hour}, and the garden has {hour} oaks." for hour in range(statements.FEW_TEXTS)]
    assert writes(send, "agent", *contrary, *ordinary) == ["quarantined"] * 3 + ["active"] * len(ordinary)


def test_among_many_texts_a_keyed_memory_changes_in_a_namespace_of_its_own(send: Send) -> None:
    """What has a key is admitted apart from the others, whose namespaces are claimed in or not."""
    claims(send, "user", "user", "budget", "$750")
    writes(send, "agent", "The oak grew.", key="oak")
    ordinary = [f"The museum opens at {hour}." for hour in range(statements.FEW_TEXTS + 1)]
    rows = [{"namespace": "acme:other", "content": content} for content in ordinary]
    rows += [
        {"namespace": MAIN, "content": "The oak grew taller.", "key": "oak"},
        {"namespace": MAIN, "content": "I, the user, have a budget of $13."},
    ]
    status, body = send("agent", "POST", "/api/v1/fragments/batch", {"fragments": rows, "embed": "later"})
    assert status == 201, body
    assert [one["status"] for one in body["results"]] == [*["active"] * len(ordinary), "active", "quarantined"]


def test_ordinary_text_costs_two_statements_more(send: Send) -> None:
    def counted(content: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert writes(send, "agent", content) == ["active"]
        return len([q for q in queries if "memories_claim" in q["sql"]])

    writes(send, "agent", "Warm.")
    before = counted("The museum opens at nine.")
    claims(send, "user", "user", "budget", "$750")
    assert counted("The museum opens at nine, and the garden behind it has four old oaks.") - before <= 2


@pytest.mark.parametrize("text", ["", "...", "?" * 500, "$" * 500, "budget " * 500, "\u0000 a", "the user's " * 200])
def test_any_text_is_read(text: str) -> None:
    assert find_contradiction(read(text), Standing("user", "budget", "$750", "money")) is None


@pytest.mark.parametrize(
    "text",
    ['The page said: "My budget is $13."', "Read this mail: my budget is $13", "According to them our budget is $13."],
)
def test_what_an_owner_quotes_replaces_nothing(send: Send, text: str) -> None:
    claims(send, "user", "user", "budget", "$750")
    writes(send, "user", text, provenance={"source": "user_explicit"})
    _, body = send("reader", "GET", f"/api/v1/claims?namespace={MAIN}&subject=user&predicate=budget", None)
    assert [row["value"] for row in body["results"]] == ["$750"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("user 2 lives in Oslo", "active"),
        ("Client 3 works and lives in Oslo.", "active"),
        ("The user lives in Oslo.", "quarantined"),
        ("user lives in 2 cities: Oslo", "quarantined"),
    ],
)
def test_a_text_about_a_user_with_a_number_contradicts_nothing_of_the_user(send: Send, text: str, status: str) -> None:
    claims(send, "user", "user", "lives_in", "Lisbon")
    assert writes(send, "agent", text) == [status]
