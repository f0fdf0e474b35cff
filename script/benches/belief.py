"""Belief: the state machine with more steps, races over HTTP with their latencies, and what the gate costs.

- machine: the rooms against the reference model of tests/conflicts, rolled back example by example.
- races: those of tests/conflicts/test_races.py against the started product; their assertions are the proof, the
  latencies of its stores are printed.
- gate: one client; the median of a store with a claim over that of one without, in turns; and of batches of a thousand.
"""

import argparse
import itertools
import os
import statistics
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django
import httpx2
from _serving import machine, serving

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from django.conf import settings
from django.db import connection, connections
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import run_state_machine_as_test

from memories.access import keys
from memories.providers import active_model
from tests.conflicts import test_races as races
from tests.conflicts.test_machine import Belief

BATCH, BATCHES = 1000, 5


def run_machine(examples: int, steps: int) -> None:
    """The state machine, in this process."""
    request = hypothesis_settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    start = time.perf_counter()
    run_state_machine_as_test(Belief, settings=request)
    took = time.perf_counter() - start
    print(f"\nmachine: {examples} examples of {steps} steps agree with the model, {took:.0f} s")


def send_over(client: httpx2.Client, texts: dict[str, str]) -> races.Send:
    """Requests with the key of whoever asks."""

    def send(who: str, method: str, path: str, body: Any) -> tuple[int, Any]:
        answer = client.request(method, path, json=body, headers={"Authorization": f"Bearer {texts[who]}"})
        return answer.status_code, answer.json() if answer.content else None

    return send


def arena(client: httpx2.Client) -> races.Arena:
    """Return a project of its own, with a key for everybody."""
    project = keys.ensure_project(f"bench-{uuid.uuid4().hex[:12]}")
    texts = {}
    for who, options in races.cast().items():
        owner = options.pop("owner")
        key_request = keys.KeyRequest(namespaces=[f"{project.name}:*"], requests_per_minute=0, **options)
        texts[who] = keys.issue(project, key_request, owner=owner).text
    connections.close_all()
    return races.Arena(send_over(client, texts), f"{project.name}:main")


def writers_without_claims(ground: races.Arena, rounds: int) -> dict[str, int]:
    """No race: the yardstick. As many writers at once, and nothing to decide."""

    def write(who: str) -> None:
        for _ in range(rounds):
            ground.ask(who, "POST", "fragments", {"namespace": ground.namespace, "content": f"zq {uuid.uuid4().hex}"})

    races.at_once([lambda n=n: write(races.writer(n)) for n in range(races.WRITERS)])
    return {"active": races.WRITERS * rounds}


RACES: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("16 writers without claims", writers_without_claims),
    ("16 writers on one key", races.writers_on_one_key),
    ("8 reviewers on one conflict", races.reviewers_on_one_conflict),
    ("writers, reviewers, undo", races.writers_and_a_reviewer),
    ("changes, votes, removals", races.changes_and_votes),
    ("rules and writers", races.rules_and_writers),
)


def run_races(client: httpx2.Client, rounds: int) -> None:
    """Every race once, after a short one to warm up."""
    races.writers_on_one_key(arena(client), 1)
    print(f"\nraces, {rounds} rounds each; stores in milliseconds")
    print(f"{'':30}{'stores':>8}{'p50':>8}{'p99':>8}{'max':>8}  what became of them")
    for name, race in RACES:
        ground = arena(client)
        counts = race(ground, rounds)
        times = ground.times()
        shares = {**counts, "deduplicated": ground.deduplicated, "forgotten": len(ground.forgotten)}
        text = ", ".join(f"{number} {status}" for status, number in sorted(shares.items()) if number)
        p50, p99 = statistics.median(times), statistics.quantiles(times, n=100, method="inclusive")[98]
        print(f"{name:30}{len(times):>8}{p50:>8.1f}{p99:>8.1f}{times[-1]:>8.1f}  {text}")
        others = {f"{method} {status} {code}".strip(): n for (method, status, code), n in sorted(ground.told().items())}
        print(f"{'':30}  answers: {', '.join(f'{n} × {text}' for text, n in others.items())}")


def run_gate(client: httpx2.Client, rounds: int) -> None:
    """What a claim adds to a store."""
    ground = arena(client)
    user, tool = "writer-0", "writer-1"
    names = itertools.count()

    def store(who: str, **claim: Any) -> float:
        body: dict[str, Any] = {"namespace": ground.namespace, "content": f"zq {uuid.uuid4().hex}"}
        body["provenance"] = {"source": races.ceiling(who)}
        if claim:
            body["claim"] = {"predicate": "motto", **claim}
        start = time.perf_counter()
        status, answer = ground.send(who, "POST", "/api/v1/fragments", body)
        took = (time.perf_counter() - start) * 1000
        assert status in (200, 201), answer
        return took

    def fresh(by: str | None = None) -> str:
        subject = f"subject {next(names)}"
        if by:
            store(by, subject=subject, value="old")
        return subject

    kinds: dict[str, Callable[[], float]] = {
        "without a claim": lambda: store(tool),
        "new key": lambda: store(tool, subject=fresh(), value="new"),
        "duplicate": lambda: store(tool, subject=fresh(user), value="old"),
        "losing": lambda: store(tool, subject=fresh(user), value="new"),
        "winning": lambda: store(user, subject=fresh(tool), value="new"),
    }
    for kind in kinds.values():
        kind()
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, kind in kinds.items():
            times[name].append(kind())
    plain = statistics.median(times["without a claim"])
    print(f"\ngate: {rounds} stores of each kind in turns, one client, median milliseconds")
    for name, took in times.items():
        median = statistics.median(took)
        print(f"{name:30}{median:>8.1f}{f'× {median / plain:.2f}':>10}")
    run_batches(ground, tool, names)


def run_batches(ground: races.Arena, who: str, names: Any) -> None:
    """A thousand at once, with claims and without."""

    def batch(claims: bool) -> float:
        rows = [{"namespace": ground.namespace, "content": f"zq {uuid.uuid4().hex}"} for _ in range(BATCH)]
        if claims:
            drafts = [{"subject": f"subject {next(names)}", "predicate": "motto", "value": "new"} for _ in rows]
            rows = [{**row, "claim": claim} for row, claim in zip(rows, drafts, strict=True)]
        start = time.perf_counter()
        status, answer = ground.send(who, "POST", "/api/v1/fragments/batch", {"fragments": rows, "embed": "later"})
        took = time.perf_counter() - start
        assert status == 201, answer
        return took

    batch(True)
    took = {claims: statistics.median(batch(claims) for _ in range(BATCHES)) for claims in (False, True)}
    rates = {claims: BATCH / seconds for claims, seconds in took.items()}
    ratio = f"× {took[True] / took[False]:.2f}"
    print(f"{f'batch of {BATCH} with claims':30}{took[True] * 1000:>8.0f}{ratio:>10}  ", end="")
    print(f"({rates[True]:.0f} against {rates[False]:.0f} fragments/s, embedded later)")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=1000, help="of the state machine")
    parser.add_argument("--steps", type=int, default=50, help="of each example")
    parser.add_argument("--rounds", type=int, default=25, help="of each race")
    parser.add_argument("--stores", type=int, default=200, help="of each kind, for the cost of the gate")
    parser.add_argument("--only", choices=["machine", "races", "gate"], action="append", help="what to run")
    options = parser.parse_args()
    wanted = set(options.only or ["machine", "races", "gate"])
    active_model()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        print(f"{machine()}, Postgres {cursor.fetchone()[0]}, embedder {settings.EMBEDDER}")
    connections.close_all()
    if "machine" in wanted:
        run_machine(options.examples, options.steps)
        connections.close_all()
    if wanted & {"races", "gate"}:
        log = Path(os.environ["NOVAMEM_DATA_DIR"]) / "belief.log"  # many of these requests are refused
        with serving(log=log) as url, httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
            if "races" in wanted:
                run_races(client, options.rounds)
            if "gate" in wanted:
                run_gate(client, options.stores)


if __name__ == "__main__":
    main()
