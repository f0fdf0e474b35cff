"""Users: what many users under one namespace cost, as ratios to as many memories without users.

One project with so many users of five memories each, one with a single namespace of as many memories, and one with
namespaces of five. All figures of a line come from the same minutes, asked in turns.

    script/bench users                  # 100,000 users
    script/bench users --users 2000
"""

import argparse
import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import django
import httpx2
from _serving import machine, serving

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from _population import question, sentence
from _scopes import EACH, SMALL, Tenant, fill, name_of
from django.db import connection, connections
from django.utils import timezone

from memories import access, audit, backups, governance, ingest, jobs, retrieval, run_changes, upkeep
from memories.access import Principal
from memories.models import Operation, RepeatedRequest

USERS, CHANGED = 100_000, 100
SCOPE_GOAL, ALL_GOAL = 1.2, 1.5


@dataclass(frozen=True, slots=True)
class Way:
    """One kind of request: to which project, and with which fields that tell the place."""

    tenant: Tenant
    place: Callable[[random.Random], dict[str, Any]]

    def ask(self, client: httpx2.Client, rng: random.Random, path: str, body: dict[str, Any]) -> float:
        """Return the milliseconds of one request."""
        sent = {"namespace": self.tenant.namespace, **body, **self.place(rng)}
        start = time.perf_counter()
        answer = client.post(f"/api/v1/{path}", json=sent, headers={"Authorization": f"Bearer {self.tenant.key}"})
        took = (time.perf_counter() - start) * 1000
        answer.raise_for_status()
        return took


def compare(
    client: httpx2.Client,
    path: str,
    make: Callable[[random.Random], dict[str, Any]],
    ways: tuple[Way, Way],
    rounds: int,
) -> tuple[float, float]:
    """Return the medians of two ways, asked in turns, after a tenth to warm up.

    Each has questions of its own: the vector of one that was just asked is kept, and the second would not pay for it.
    """
    rng = (random.Random(11), random.Random(12))
    took: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + rounds // 10):
        for which in (0, 1) if turn % 2 else (1, 0):
            took[which].append(ways[which].ask(client, rng[which], path, make(rng[which])))
    return statistics.median(took[0][-rounds:]), statistics.median(took[1][-rounds:])


def told(what: str, medians: tuple[float, float], goal: float | None = None) -> bool:
    """Print a ratio; whether it meets the goal."""
    ratio = medians[0] / medians[1]
    wanted = "" if goal is None else f" (≤ {goal})"
    print(f"  {what:66} p50 {medians[0]:8.1f} ms, {medians[1]:8.1f} ms  × {ratio:.2f}{wanted}", flush=True)
    return goal is None or ratio <= goal


def asks(client: httpx2.Client, tenants: dict[str, Tenant], users: int, rounds: int) -> list[bool]:
    """Search and store; whether each goal is met."""
    scope = Way(tenants["users"], lambda rng: {"user": name_of(rng.randrange(users))})
    small = Way(
        tenants["small"],
        lambda rng: {"namespace": f"{tenants['small'].principal.project}:small-{rng.randrange(SMALL)}"},
    )
    every, whole = Way(tenants["users"], lambda rng: {"all_users": True}), Way(tenants["one"], lambda rng: {})
    fresh = Way(tenants["users"], lambda rng: {"user": f"fresh-{rng.randrange(10**12)}"})

    def search(rng: random.Random) -> dict[str, Any]:
        return {"query": question(rng), "project_wide": False}

    def text(rng: random.Random) -> dict[str, Any]:
        return {"content": sentence(rng)}

    return [
        told("search in a user's scope ÷ in a namespace of its size",
             compare(client, "search", search, (scope, small), rounds), SCOPE_GOAL),
        told(f"search over all users ÷ in one namespace of {users * EACH:,}",
             compare(client, "search", search, (every, whole), rounds), ALL_GOAL),
        told("context for a user ÷ in a namespace of its size",
             compare(client, "context", search, (scope, small), rounds)),
        told("store in a user's scope ÷ in a namespace of its size",
             compare(client, "fragments", text, (scope, small), rounds)),
        told("the first store of a user ÷ in a namespace of five",
             compare(client, "fragments", text, (fresh, small), rounds)),
    ]  # fmt: skip


def sizes(tenants: dict[str, Tenant], users: int) -> None:
    """Print what the database took for each user."""
    own, one = (tenants[kind].octets / users / 1024 for kind in ("users", "one"))
    print(f"  database for each user: {own:.1f} kB; {EACH} memories in one namespace: {one:.1f} kB  × {own / one:.2f}")


def upkeep_round(principal: Principal) -> dict[str, float]:
    """Return the seconds of each scheduled task of the hour over the project, with the operations that it starts."""
    now = timezone.now()
    steps: dict[str, Callable[[], object]] = {
        "connect": lambda: upkeep.graph.refresh_graph(principal, now=now),
        "search": lambda: (retrieval.refresh_statistics(principal, now=now), retrieval.maintain_indexes(principal)),
        "strays": retrieval.drop_strays,
        "seal": lambda: audit.seal(principal, now=now),
        "embed": lambda: ingest.embedding_queue.embed_pending(principal, now=now),
        "small": lambda: jobs.start_due(principal, now=now),
        "consolidate": lambda: jobs.consolidate_everything(principal, now=now),
        "operations": lambda: _work_off(principal),
        "evolve": lambda: jobs.evolve_everything(principal, now=now),
        "proposals": lambda: governance.trim(principal, now=now),
        "expire": lambda: _expire(principal),
    }
    took = {}
    for name, step in steps.items():
        start = time.perf_counter()
        step()
        took[name] = time.perf_counter() - start
    return took


def _work_off(principal: Principal) -> None:
    """What workers do: all open operations, one after the other."""
    with access.enter(principal, why="bench"):
        waiting = Operation.objects.within(principal.project_id).filter(finished_at=None).order_by("created_at")
        ids = list(waiting.values_list("id", flat=True))
    for each in ids:
        done = jobs.run(principal, each)
        if done is None or done.state != "succeeded":
            raise RuntimeError(f"an operation of upkeep failed: {done and (done.error, done.report)}")


def _expire(principal: Principal) -> None:
    now = timezone.now()
    with access.enter(principal, why="bench"):
        RepeatedRequest.objects.within(principal.project_id).expired(now=now).delete()
    retrieval.context.expire_receipts(principal, now=now)
    upkeep.lifecycle.expire_copies(principal, now=now)
    run_changes.expire(principal, now=now)
    backups.expire(principal, now=now)


def rounds_of_upkeep(client: httpx2.Client, tenants: dict[str, Tenant], users: int) -> None:
    """Print how long a round takes when nothing changed, when scopes of users did, and in one namespace instead."""
    rng = random.Random(12)
    changing = Way(tenants["users"], lambda rng: {"user": name_of(rng.randrange(users))})
    plain = Way(tenants["one"], lambda rng: {})
    for kind, way in (("users", changing), ("one", plain)):
        principal = tenants[kind].principal
        upkeep_round(principal)  # what the requests left behind
        lines = {"nothing changed": upkeep_round(principal)}
        for _ in range(CHANGED):
            way.ask(client, rng, "fragments", {"content": sentence(rng)})
        lines[f"{CHANGED} memories came"] = upkeep_round(principal)
        for what, took in lines.items():
            parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in took.items() if seconds >= 0.01)
            print(f"  a round of upkeep, {kind}, {what}: {sum(took.values()):.1f} s: {parts}", flush=True)


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=USERS, help="how many, with five memories each (100,000)")
    parser.add_argument("--rounds", type=int, default=100, help="requests of each kind (100)")
    options = parser.parse_args()
    access.connect()  # patiently
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        print(f"{machine()}, Postgres {cursor.fetchone()[0]}, load {os.getloadavg()[0]:.1f}")
    start = time.perf_counter()
    tenants = fill(options.users)
    print(f"\n{options.users:,} users of {EACH} memories, filled in {time.perf_counter() - start:.0f} s")
    sizes(tenants, options.users)
    connections.close_all()
    with serving() as url, httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
        met = asks(client, tenants, options.users, options.rounds)
        rounds_of_upkeep(client, tenants, options.users)
    print(f"  load {os.getloadavg()[0]:.1f}")
    print("✓ all goals met" if all(met) else "✗ a goal is missed")
    raise SystemExit(not all(met))


if __name__ == "__main__":
    main()
