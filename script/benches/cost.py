"""Cost: what a request costs: statements, bytes between web server and database, processor time of both.

In one process, one caller, a conversation of 419 turns in the namespace that is read. Processor time is the system's
own account of this process and of Postgres, so that what else the machine does counts for little.

    script/bench cost
    script/bench cost --json before.json          # and then, in another checkout:
    script/bench cost --against before.json
"""

import argparse
import itertools
import json
import os
import random
import secrets
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import django
import psutil
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from django.contrib.auth import get_user_model
from django.db import connection, connections
from django.test import Client

from memories.access import keys
from memories.models import Membership, Project

TURNS, BATCH = 419, 100
NOUNS = ("heron", "otter", "mill", "river", "bridge", "harbour", "violin", "kettle", "orchard", "ladder", "market")
DEEDS = ("nests behind", "sleeps under", "was seen near", "waits at", "is painted like", "belongs to")
AROUND = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "SET LOCAL")
COLUMNS = ("statements", "bytes", "web_ms", "postgres_ms")


def sentences() -> Iterator[str]:
    """Return texts without end, none like another."""
    rng = random.Random(7)
    for n in itertools.count():
        yield f"The {rng.choice(NOUNS)} {n} {rng.choice(DEEDS)} the {rng.choice(NOUNS)} of house {n % 97}."


class Meter:
    """Counts what a call sends to the database, and what it costs this process and Postgres."""

    def __init__(self) -> None:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.own, self.postgres = psutil.Process(), psutil.Process(cursor.fetchone()[0]).parent()
        self.statements = self.bytes = 0

    def _count(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not str(sql).startswith(AROUND):
            self.statements += 1
            values = params.values() if isinstance(params, dict) else params or ()
            self.bytes += len(str(sql).encode()) + sum(len(str(value).encode()) for value in values)
        return execute(sql, params, many, context)

    def _times(self) -> list[float]:
        """Milliseconds of this process, and of all of Postgres: which backend serves is the pool's choice."""
        server = self.postgres.cpu_times()
        backends = [child.cpu_times() for child in self.postgres.children()]
        spent = server.children_user + server.children_system + sum(times.user + times.system for times in backends)
        return [sum(self.own.cpu_times()[:2]) * 1000, spent * 1000]

    def measure(self, call: Callable[[], Any], *, rounds: int, parts: int = 1) -> dict[str, float]:
        """Return what a call costs: the median of its counts, the mean of its processor times; by each of its parts."""
        call()
        counts = []
        before = self._times()
        with connection.execute_wrapper(self._count):
            for _ in range(rounds):
                self.statements = self.bytes = 0
                call()
                counts.append((self.statements, self.bytes))
        spent = [(after - start) / rounds for start, after in zip(before, self._times(), strict=True)]
        figures = [*(statistics.median(column) for column in zip(*counts, strict=True)), *spent]
        return {name: round(value / parts, 2) for name, value in zip(COLUMNS, figures, strict=True)}


def requests_of(project: Project) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return by name what is asked, and of how many parts it is."""
    request = keys.KeyRequest([f"{project.name}:*"], ["read", "write"], "tool_output", requests_per_minute=0)
    headers = {"Authorization": f"Bearer {keys.issue(project, request, owner='bench').text}", "Host": "127.0.0.1"}
    client, texts, main = Client(), sentences(), f"{project.name}:main"

    def post(path: str, body: dict[str, Any]) -> None:
        answer = client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)
        if answer.status_code not in (200, 201):
            raise RuntimeError(f"{path}: {answer.status_code} {answer.content[:300]!r}")

    turns = [{"role": ("user", "assistant")[n % 2], "content": next(texts)} for n in range(TURNS)]
    for start in range(0, TURNS, BATCH):
        messages = turns[start : start + BATCH]
        post("ingest", {"namespace": main, "conversation_id": "bench", "messages": messages})
    post("fragments", {"namespace": f"{project.name}:side", "content": next(texts)})

    def question() -> str:
        return next(texts).replace("The", "Where does the", 1)

    def fragments() -> list[dict[str, str]]:
        return [{"namespace": f"{project.name}:side", "content": next(texts)} for _ in range(BATCH)]

    user = get_user_model()._default_manager.create_user(f"bench-{secrets.token_hex(4)}")
    Membership.objects.create(user=user, project=project, role="admin")
    browser = Client(headers={"host": "127.0.0.1"})
    browser.force_login(user)
    several = [main, f"{project.name}:side"]
    return {
        "search": (lambda: post("search", {"namespace": main, "query": question()}), 1),
        "search, two namespaces": (lambda: post("search", {"namespaces": several, "query": question()}), 1),
        "context": (lambda: post("context", {"namespace": main, "query": question()}), 1),
        "store": (lambda: post("fragments", fragments()[0]), 1),
        "an item of a batch": (lambda: post("fragments/batch", {"fragments": fragments()}), BATCH),
        "console, /memories/": (lambda: browser.get("/memories/"), 1),
    }


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument("--against", type=Path, help="the figures of another run, to be compared with")
    options = parser.parse_args()
    project = keys.ensure_project(f"cost-{secrets.token_hex(4)}")
    meter, former = Meter(), json.loads(options.against.read_text()) if options.against else {}
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}; {TURNS} turns, {options.rounds} rounds")
    print(f"  {'':26}" + "".join(f"{name:>20}" for name in COLUMNS))
    figures = {}
    requests = requests_of(project)
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as autovacuum would before long
    for name, (call, parts) in requests.items():
        figures[name] = meter.measure(call, rounds=options.rounds, parts=parts)
        before = former.get(name, {})
        shown = [
            f"{value:,.1f}" + (f" × {value / before[column]:.2f}" if before.get(column) else "")
            for column, value in figures[name].items()
        ]
        print(f"  {name:26}" + "".join(f"{text:>20}" for text in shown))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
