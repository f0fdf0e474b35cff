"""What a language model that is away costs a store: with none and with dead ones, in turns, while a worker asks it."""

import argparse
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import django
import httpx2
from _serving import machine, manage, serving

django.setup()

import json

from memories.providers.fake_sidecar import serving as fake

LIMIT = 1.1
DEAD = ("hang", "reset", "broken")
REFUSING = "http://127.0.0.1:9"


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Settings for the servers that are started meanwhile."""
    former = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in former.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def storing(client: httpx2.Client, url: str, key: str, namespace: str) -> Callable[[int], float]:
    """Store one text whose claim is wanted; milliseconds."""

    def store(number: int) -> float:
        text = f"The mill{number} of {uuid.uuid4()} turns behind the harbour."
        body = {"namespace": namespace, "content": text, "extract_claim": True}
        start = time.perf_counter()
        answer = client.post(f"{url}/api/v1/fragments", json=body, headers={"Authorization": f"Bearer {key}"})
        taken = (time.perf_counter() - start) * 1000
        if answer.status_code != 201:
            raise SystemExit(answer.text)
        return taken

    return store


@contextmanager
def working() -> Iterator[None]:
    """A worker and its clock, as in the product: they read what was stored."""
    celery = [sys.executable, "-m", "celery", "-A", "novamem"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    commands = [[*celery, "worker", "-P", "threads", "-c", "4"], [*celery, "beat"]]
    children = [subprocess.Popen(command, **silent) for command in commands]
    try:
        yield
    finally:
        for child in children:
            child.terminate()
        for child in children:
            child.wait(60)


def main() -> int:
    """Print medians and their ratio to those without a language model; 1 above the limit, or if one was not asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=150, help="stores of each kind")
    count = parser.parse_args().count
    project = f"bench-{uuid.uuid4().hex[:8]}"
    key = json.loads(manage("apikey", "create", "--project", project, "--rate", "0", "--json"))["key"]
    print(machine())
    print(f"\nmilliseconds of a store, {count} of each kind, one caller, a worker beside it", end="")
    print(f"{'none':>10}{'with':>10}{'ratio':>8}{'asked':>8}")
    failed = False
    for name in ("none", "refusing", *DEAD):
        with fake(mode=name) if name in DEAD else nullcontext() as server:
            url = server.url if server else REFUSING if name == "refusing" else ""
            without, with_it, rows = compared(project, key, url, count, heard=server and server.requests)
        ratio = with_it / without
        wrong = name != "none" and (ratio > LIMIT or rows == 0)
        failed |= wrong
        text, verdict = "" if rows is None else rows, "✗" if wrong else "ok"
        print(f"  {name:75}{without:>10.2f}{with_it:>10.2f}{ratio:>8.2f}{text:>8}  {verdict}", flush=True)
    return 1 if failed else 0


def _asked(requests: list[dict[str, Any]] | None) -> int | None:
    """Return how often the worker has asked by now; it gets a minute for the first time."""
    deadline = time.monotonic() + 60
    while requests == [] and time.monotonic() < deadline:
        time.sleep(0.2)
    return None if requests is None else len(requests)


def compared(
    project: str, key: str, sidecar: str, count: int, *, heard: list[dict[str, Any]] | None
) -> tuple[float, float, int | None]:
    """Medians without and with the sidecar, by two servers on one database that are asked in turns; what it heard."""
    with (
        environment(LLM_SIDECAR_URL=""),
        serving() as plain,
        environment(LLM_SIDECAR_URL=sidecar, COGNITION_LLM_TIMEOUT_MS="2000"),
        working(),
        serving() as beside,
        httpx2.Client(trust_env=False, timeout=60) as client,
    ):
        stores = [storing(client, url, key, f"{project}:main") for url in (plain, beside)]
        taken: list[list[float]] = [[], []]
        for number in range(count + 10):
            for place in (0, 1) if number % 2 else (1, 0):
                value = stores[place](number)
                if number >= 10:
                    taken[place].append(value)
        without, with_it = (statistics.median(values) for values in taken)
        return without, with_it, _asked(heard)


if __name__ == "__main__":
    sys.exit(main())
