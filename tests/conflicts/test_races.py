"""Races on one key, over the API, with real threads and committed rows: nobody waits in a circle, one value stands.

The races themselves know nothing but `send`, so that `script/bench belief` runs them longer over real HTTP.
"""

import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import pytest
from django.db import connections
from rest_framework.test import APIClient

WRITERS, REVIEWERS = 16, 8
ROUNDS = 3  # in the suite; `script/bench belief` runs 25
STATUSES = ("active", "superseded", "disputed", "quarantined", "archived")
CEILINGS = ("user_explicit", "tool_output", "tool_output", "inference")
VALUES = [f"value {number}" for number in range(6)]
BUSY = {"already_resolved", "stale_revision", "cannot_undo", "cannot_split", "not_applicable", "not_open"}

Send = Callable[[str, str, str, Any], tuple[int, Any]]


@dataclass
class Arena:
    """A namespace, who acts in it, and every answer that they were given."""

    send: Send
    namespace: str
    # (who, method, path, status, code, milliseconds)
    answers: list[tuple[str, str, str, int, str, float]] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    deduplicated: int = 0
    forgotten: set[str] = field(default_factory=set)

    def ask(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request; its answer is kept."""
        start = time.perf_counter()
        status, answer = self.send(who, method, f"/api/v1/{path}", body)
        took = (time.perf_counter() - start) * 1000
        code = answer.get("code", "") if status >= 400 and isinstance(answer, dict) else ""
        self.answers.append((who, method, path.split("?")[0].split("/")[-1], status, code, took))
        return status, answer

    def say(self, who: str, value: str, **claim: Any) -> Any:
        """Stores a claim; a refusal counts as no acknowledgement."""
        claim = {"subject": "user", "predicate": "lives_in", "value": value, **claim}
        text = f"zq {uuid.uuid4().hex}"
        provenance = {"source": ceiling(who)}
        body = {"namespace": self.namespace, "content": text, "claim": claim, "provenance": provenance}
        status, answer = self.ask(who, "POST", "fragments", body)
        if status == 201:
            self.stored.add(answer["id"])
        elif status == 200:
            self.deduplicated += 1
        return answer if status in (200, 201) else None

    def listed(self, who: str, path: str) -> list[Any]:
        """All pages of a list."""
        found, link = [], f"/api/v1/{path}"
        while link:
            status, answer = self.send(who, "GET", link, None)
            assert status == 200, answer
            found += answer["results"]
            link = answer["next"] and answer["next"][answer["next"].index("/api/") :]
        return found

    def times(self, method: str = "POST", path: str = "fragments") -> list[float]:
        """How long stores took, in milliseconds, sorted."""
        return sorted(answer[5] for answer in self.answers if answer[1:3] == (method, path))

    def told(self) -> Counter[tuple[str, int, str]]:
        """How often each status and code was answered, by method."""
        return Counter((answer[1], answer[3], answer[4]) for answer in self.answers)


def ceiling(who: str) -> str:
    """What the key of somebody may claim: the name says it."""
    return "user_explicit" if who == "reviewer" else CEILINGS[int(who.split("-")[1]) % len(CEILINGS)]


def writer(number: int) -> str:
    """The name of a writer; two writers in a row of four have the same owner."""
    return f"writer-{number}"


def owner(who: str) -> str:
    """Whose key it is: pairs of writers with the same ceiling share an owner."""
    if not who.startswith("writer-"):
        return who
    number = int(who.split("-")[1])
    return f"owner-{number % len(CEILINGS)}-{number // len(CEILINGS) // 2}"


def cast() -> dict[str, dict[str, Any]]:
    """Who takes part: the wish for each one's key."""
    everybody = {
        writer(n): {"verbs": ["read", "write"], "ceiling": ceiling(writer(n)), "owner": owner(writer(n))}
        for n in range(WRITERS)
    }
    review = {"verbs": ["read", "write", "review", "admin"], "ceiling": "user_explicit"}
    return everybody | {f"reviewer-{n}": {**review, "owner": f"reviewer-{n}"} for n in range(REVIEWERS)}


def at_once(works: list[Callable[[], Any]]) -> list[Any]:
    """Runs these at the same time; their results in order."""
    barrier = threading.Barrier(len(works))

    def one(work: Callable[[], Any]) -> Any:
        barrier.wait(timeout=60)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(one, work) for work in works]]


def doubles(arena: Arena, *, keys_of: Callable[[Any], Any] = lambda claim: claim["subject"]) -> list[tuple[str, str]]:
    """Pairs of active exclusive claims of one key whose values differ and whose times overlap."""
    rows = arena.listed("reviewer-0", f"fragments?namespace={arena.namespace}&limit=200")
    said = [(row["id"], claim) for row in rows for claim in row["claims"]]
    claims = [(one, claim) for one, claim in said if claim["exclusive"] and claim["status"] == "active"]
    return [
        (one, other)
        for (one, a), (other, b) in combinations(claims, 2)
        if keys_of(a) == keys_of(b)
        and a["session_id"] == b["session_id"]
        and a["value"] != b["value"]
        and overlap(a, b)
    ]


def overlap(a: Any, b: Any) -> bool:
    """Whether both hold at some instant; times are ISO 8601 in UTC."""
    first, last = "0", "9999"
    starts = [claim["valid_from"] or first for claim in (a, b)]
    ends = [claim["valid_until"] or last for claim in (a, b)]
    return max(starts) < min(ends)


def watched(arena: Arena, works: list[Callable[[], Any]], *, kept: bool = False) -> None:
    """Runs works at the same time while somebody looks for double beliefs, in each answer and at the end."""
    done, seen = threading.Event(), []

    def look() -> None:
        while not done.wait(0.3):
            seen.extend(doubles(arena))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        at_once(works)
    finally:
        done.set()
        looker.join()
    if not kept:
        assert seen == []
        assert doubles(arena) == []
    assert [answer for answer in arena.answers if answer[3] >= 500] == []


def settled(arena: Arena) -> Counter[str]:
    """Every acknowledged fragment in exactly one status, or forgotten; how many there are of each."""
    rows = arena.listed("reviewer-0", f"fragments?namespace={arena.namespace}&status=all&limit=200")
    counts = Counter(row["status"] for row in rows)
    assert len(rows) == len({row["id"] for row in rows})
    assert {row["id"] for row in rows} == arena.stored - arena.forgotten
    assert set(counts) <= set(STATUSES)
    return counts


# The races


def writers_on_one_key(arena: Arena, rounds: int, *, seed: int = 1) -> Counter[str]:
    """16 writers of 8 owners and three authorities, some for a time only; acknowledged = what there is."""

    def write(who: str, dice: random.Random) -> None:
        for _ in range(rounds):
            period = {"scope": "temporal", "valid_from": f"20{dice.randint(10, 29)}-01-01T00:00:00Z"}
            assert arena.say(who, dice.choice(VALUES), **(period if dice.random() < 0.2 else {}))

    watched(arena, [lambda n=n: write(writer(n), random.Random(seed * 100 + n)) for n in range(WRITERS)])
    counts = settled(arena)
    assert sum(counts.values()) + arena.deduplicated == WRITERS * rounds
    return counts


def writers_of_several_claims(arena: Arena, rounds: int, *, seed: int = 6) -> Counter[str]:
    """16 writers state two or three things at once, in any order of their keys."""

    def write(who: str, dice: random.Random) -> None:
        for _ in range(rounds):
            keys = dice.sample(["lives_in", "budget", "motto"], dice.randint(2, 3))
            claims = [{"subject": "user", "predicate": key, "value": dice.choice(VALUES)} for key in keys]
            body = {"namespace": arena.namespace, "content": f"zq {uuid.uuid4().hex}", "claims": claims}
            status, answer = arena.ask(who, "POST", "fragments", {**body, "provenance": {"source": ceiling(who)}})
            assert status in (200, 201), answer
            arena.deduplicated += status == 200
            arena.stored |= {answer["id"]} if status == 201 else set()

    at_once([lambda n=n: write(writer(n), random.Random(seed * 100 + n)) for n in range(WRITERS)])
    assert doubles(arena, keys_of=lambda claim: (claim["subject"], claim["predicate"])) == []
    assert [answer for answer in arena.answers if answer[3] >= 500] == []
    counts = settled(arena)
    assert sum(counts.values()) + arena.deduplicated == WRITERS * rounds
    return counts


def reviewers_on_one_conflict(arena: Arena, rounds: int) -> Counter[str]:
    """8 reviewers decide at once on what they saw: one does, the others are told that it was done."""
    for number in range(rounds):
        subject = f"person {number}"
        arena.say("writer-0", "Oslo", subject=subject)
        waiting = arena.say("writer-1", "Rome", subject=subject)
        (conflict,) = waiting["pending_conflicts"]
        actions = ["supersede", "reject", "keep_both", "supersede"]

        def decide(
            n: int, conflict_id: str = conflict["id"], waiting: Any = waiting, actions: list[str] = actions
        ) -> tuple[int, str]:
            body = {"action": actions[n % len(actions)], "revision": 1}
            status, answer = arena.ask(f"reviewer-{n}", "POST", f"conflicts/{conflict_id}/resolve", body)
            return status, answer.get("code", "")

        told = Counter(at_once([lambda n=n: decide(n) for n in range(REVIEWERS)]))
        assert told.pop((200, "")) == 1
        assert set(told) <= {(409, "already_resolved"), (409, "stale_revision")}
    return settled(arena)


def writers_and_a_reviewer(arena: Arena, rounds: int, *, seed: int = 2) -> Counter[str]:
    """Writers store while people resolve, keep both and take it back."""

    def write(who: str, dice: random.Random) -> None:
        for _ in range(rounds):
            assert arena.say(who, dice.choice(VALUES))

    def review(who: str, dice: random.Random) -> None:
        mine: list[str] = []
        for _ in range(rounds * 2):
            path = f"conflicts?namespace={arena.namespace}&limit=20"
            waiting = arena.ask(who, "GET", path)[1]["results"]
            if mine and dice.random() < 0.4:
                conflict_id, verb, body = dice.choice(mine), "undo", {}
            elif waiting:
                row = dice.choice(waiting)
                action = dice.choice([{"action": "supersede"}, {"action": "reject"}, {"action": "keep_both"}])
                conflict_id, verb, body = row["id"], "resolve", {**action, "revision": row["revision"]}
            else:
                continue
            status, answer = arena.ask(who, "POST", f"conflicts/{conflict_id}/{verb}", body)
            assert status == 200 or answer["code"] in BUSY, answer
            if status == 200 and verb == "resolve":
                mine.append(conflict_id)

    works = [lambda n=n: write(writer(n), random.Random(seed * 100 + n)) for n in range(WRITERS - 4)]
    works += [lambda n=n: review(f"reviewer-{n}", random.Random(seed * 200 + n)) for n in range(1, 5)]
    watched(arena, works, kept=True)
    counts = settled(arena)
    assert sum(counts.values()) + arena.deduplicated == (WRITERS - 4) * rounds
    return counts


def changes_and_votes(arena: Arena, rounds: int, *, seed: int = 3) -> Counter[str]:
    """Writers store, rewrite, vote, archive, bring back and forget on one key."""

    def act(who: str, dice: random.Random) -> None:
        own: list[str] = []
        for _ in range(rounds):
            if (answer := arena.say(who, dice.choice(VALUES))) and answer["id"] in arena.stored:
                own.append(answer["id"])
            everybody = sorted(arena.stored)
            claim = {"subject": "user", "predicate": "lives_in", "value": dice.choice(VALUES)}
            at, foreign = dice.choice(own or everybody), dice.choice(everybody)
            wish = dice.choice(
                [
                    ("PATCH", f"fragments/{at}", {"claim": claim}),
                    ("PATCH", f"fragments/{at}", {"content": f"zq {uuid.uuid4().hex}"}),
                    ("POST", f"fragments/{foreign}/dispute", {"reason": "no"}),
                    ("POST", f"fragments/{foreign}/reinforce", {}),
                    ("POST", f"fragments/{foreign}/corroborate", {}),
                    ("POST", f"fragments/{at}/archive", {}),
                    ("POST", f"fragments/{at}/unarchive", {}),
                    ("DELETE", f"fragments/{at}", None),
                ]
            )
            status, answer = arena.ask(who, *wish)
            if status == 204:
                arena.forgotten.add(at)
            fine = {403: {"not_permitted"}, 404: {"not_found"}, 409: {"not_open", "stale_revision"}}
            assert status in (200, 204) or answer["code"] in fine.get(status, ()), answer

    watched(arena, [lambda n=n: act(writer(n), random.Random(seed * 100 + n)) for n in range(WRITERS)])
    counts = settled(arena)
    assert sum(counts.values()) + arena.deduplicated + len(arena.forgotten) == WRITERS * rounds
    return counts


def rules_and_writers(arena: Arena, rounds: int, *, seed: int = 4) -> Counter[str]:
    """The registry gives a key other names, and one value or many, while writers use all of them."""
    spellings = ["motto", "slogan", "watchword"]

    def write(who: str, dice: random.Random) -> None:
        for _ in range(rounds):
            claim = {"predicate": dice.choice(spellings), "subject": dice.choice(["user", "User "])}
            assert arena.say(who, dice.choice(VALUES), **claim)

    def rule(who: str, dice: random.Random) -> None:
        name = {"namespace": arena.namespace, "name": "motto"}
        arena.ask(who, "POST", "predicates", {**name, "exclusive": True})
        for _ in range(rounds * 2):
            aliases = dice.sample(spellings[1:], dice.randint(0, 2))
            change = dice.choice([{"aliases": aliases}, {"aliases": aliases}, {"exclusive": dice.random() < 0.7}])
            status, answer = arena.ask(who, "PATCH", "predicates", {**name, **change})
            assert status == 200 or answer["code"] in {"claims_collide", "stale_revision"}, answer

    works = [lambda n=n: write(writer(n), random.Random(seed * 100 + n)) for n in range(WRITERS - 2)]
    works += [lambda n=n: rule(f"reviewer-{n}", random.Random(seed * 200 + n)) for n in (1, 2)]
    at_once(works)
    assert [answer for answer in arena.answers if answer[3] >= 500] == []
    named = {
        row["name"]: row for row in arena.listed("reviewer-0", f"predicates?namespace={arena.namespace}&limit=200")
    }
    aliases = set(named["motto"]["aliases"])
    assert doubles(arena, keys_of=lambda claim: "motto" if claim["predicate"] in aliases else claim["predicate"]) == []
    counts = settled(arena)
    assert sum(counts.values()) + arena.deduplicated == (WRITERS - 2) * rounds
    return counts


# In the suite


@pytest.fixture
def arena(committed, agent_of):
    """A committed project, with a key for everybody; one connection a request, as the server has it."""
    texts = {}
    for who, wish in cast().items():
        texts[who] = agent_of(committed, requests_per_minute=0, **wish).key
    connections.close_all()

    def send(who, method, path, body):
        client = APIClient(headers={"Authorization": f"Bearer {texts[who]}"})
        try:
            data = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
            answer = client.generic(method, path, **data)
            return answer.status_code, answer.json() if answer.content else None
        finally:
            connections.close_all()

    return Arena(send, f"{committed.name}:main")


@pytest.mark.long
def test_sixteen_writers_on_one_key(arena):
    writers_on_one_key(arena, ROUNDS)


@pytest.mark.long
def test_sixteen_writers_of_several_claims_at_once(arena):
    writers_of_several_claims(arena, ROUNDS)


@pytest.mark.long
def test_eight_reviewers_on_one_conflict(arena):
    reviewers_on_one_conflict(arena, 2)


@pytest.mark.long
def test_writers_while_people_resolve_and_take_back(arena):
    writers_and_a_reviewer(arena, ROUNDS)


@pytest.mark.long
def test_changes_votes_and_removals_against_stores(arena):
    changes_and_votes(arena, ROUNDS)


@pytest.mark.long
def test_rules_change_while_writers_store(arena):
    rules_and_writers(arena, ROUNDS)
