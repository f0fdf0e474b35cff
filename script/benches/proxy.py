"""What the proxy costs a chat, and whether it changes or loses anything, against the fake upstream on this machine."""

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
import httpx2
import psutil
from _serving import machine, manage, serving

django.setup()

from django.db import connection

from memories import access
from memories.models import Exchange, Project
from memories.providers.fake_streams import varied

CHATS = "/v1/chat/completions"
LIMIT_MS = 20.0
NOUNS = ["heron", "otter", "mill", "river", "bridge", "harbour", "violin", "kettle", "key_state", "orchard"]
DEEDS = ["nests behind", "sleeps under", "was seen near", "waits at", "is painted like", "belongs to"]


def texts(count: int) -> list[str]:
    """That many different memories."""
    chance = random.Random(7)
    return [
        f"The {chance.choice(NOUNS)} {n} {chance.choice(DEEDS)} the {chance.choice(NOUNS)} of house {n % 97}."
        for n in range(count)
    ]


@contextmanager
def outside() -> Iterator[str]:
    """The fake upstream in a process of its own; its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "manage.py", "fakeupstream", "--port", str(port)], stdout=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}/v1"
    try:
        while process.poll() is None:
            try:
                httpx2.get(f"{url}/models", trust_env=False)
                break
            except httpx2.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        process.kill()
        process.wait()


class Caller:
    """Asks through the proxy or the upstream itself."""

    def __init__(self, client: httpx2.AsyncClient, key: str, namespace: str) -> None:
        self.client, self.ours = client, {"Authorization": f"Bearer {key}", "X-NovaMem-Namespace": namespace}

    async def ask(self, url: str, body: dict[str, Any], **headers: str) -> tuple[float, bytes, httpx2.Headers]:
        """Milliseconds to the first byte, all bytes, the head."""
        start = time.perf_counter()
        first, got = 0.0, b""
        async with self.client.stream("POST", url, json=body, headers={**self.ours, **headers}) as answer:
            async for piece in answer.aiter_raw():
                first = first or (time.perf_counter() - start) * 1000
                got += piece
        return first, got, answer.headers


def body(number: int, **more: Any) -> dict[str, Any]:
    """Return a chat like no other."""
    text = f"Chat {number}: where does the {NOUNS[number % len(NOUNS)]} of house {number % 97} stay?"
    return {"model": "right", "stream": True, "messages": [{"role": "user", "content": text}], **more}


async def first_bytes(caller: Caller, proxy: str, upstream: str, count: int) -> None:
    """Added time to the first byte, one caller: direct and proxied in turns."""
    added: dict[str, list[float]] = {"off": [], "full": []}
    recall, direct = [], []
    for number in range(count + 5):
        plain, _, _ = await caller.ask(upstream + "/chat/completions", body(number))
        off, _, _ = await caller.ask(proxy, body(number), **{"X-NovaMem-Mode": "off"})
        full, _, head = await caller.ask(proxy, body(number))
        if number >= 5:
            recalled = float(head["server-timing"].partition("dur=")[2])
            direct.append(plain)
            recall.append(recalled)
            added["off"].append(off - plain)
            added["full"].append(full - plain - recalled)
    print(f"\nmilliseconds to the first byte, {count} chats in turns, one caller{'p50':>14}{'p99':>8}")
    for name, values in (
        ("upstream itself", direct),
        ("retrieval, as the answer's Server-Timing says", recall),
        ("added without memory (mode off)", added["off"]),
        (f"added beside retrieval (limit {LIMIT_MS:.0f})", added["full"]),
    ):
        cuts = statistics.quantiles(values, n=100)
        print(f"  {name:58}{statistics.median(values):>11.1f}{cuts[98]:>8.1f}")


async def same_bytes(caller: Caller, proxy: str, pid: int, count: int) -> None:
    """Varied streams, ten at once."""
    gate = asyncio.Semaphore(10)

    async def one(seed: int) -> bool:
        async with gate:
            _, got, _ = await caller.ask(proxy, body(seed, model="varied", seed=seed))
        return got == b"".join(varied(seed))

    start, before = time.perf_counter(), memory(pid)
    changed = sum(not same for same in await asyncio.gather(*(one(seed) for seed in range(count))))
    print(
        f"\n{count} varied streams, ten at once: {changed} changed, {time.perf_counter() - start:.1f} s,"
        f" server {before:.0f} → {memory(pid):.0f} MB"
    )


async def many_at_once(caller: Caller, proxy: str, pid: int, *, streams: int, rounds: int) -> None:
    """Rounds of slow streams at once: first bytes, and the memory of the server after each round."""
    print(f"\n{streams} slow streams at once, {rounds} rounds")
    for number in range(rounds):
        start = time.perf_counter()
        jobs = [caller.ask(proxy, body(1000 * number + n, model="slow")) for n in range(streams)]
        answers = await asyncio.gather(*jobs)
        whole = sum(got.endswith(b"data: [DONE]\n\n") for _, got, _ in answers)
        firsts = sorted(first for first, _, _ in answers)
        recalled = sum(head["x-novamem-injected"] != "0" for _, _, head in answers)
        print(
            f"  round {number + 1}: {whole} whole, {recalled} with memory,"
            f" first byte p50 {statistics.median(firsts):.0f} ms, last {firsts[-1]:.0f} ms,"
            f" {time.perf_counter() - start:.1f} s, server {memory(pid):.0f} MB"
        )


def memory(pid: int) -> float:
    """Megabytes of the web server's processes."""
    tree = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(process.memory_info().rss for process in tree) / 1e6


async def cut(caller: Caller, proxy: str, pid: int, *, streams: int) -> int:
    """Stream of which a fifth has no end; a signal to stop comes while they run. Answers how many were begun."""
    begun = asyncio.Semaphore(0)

    async def one(number: int) -> None:
        model = "slow" if number % 5 else "endless"
        ours = caller.client.stream("POST", proxy, json=body(10**6 + number, model=model), headers=caller.ours)
        try:
            async with ours as answer:
                async for _ in answer.aiter_raw():
                    begun.release()
        except httpx2.TransportError:
            pass  # cut

    jobs = [asyncio.create_task(one(number)) for number in range(streams)]
    for _ in range(streams * 2):
        await begun.acquire()
    psutil.Process(pid).send_signal(signal.SIGTERM)
    await asyncio.gather(*jobs)
    return streams


def waiting(project: str) -> Sequence[Exchange]:
    """Return what was written down and no worker has taken: none runs here."""
    principal = access.system_principal(Project.objects.get(name=project))
    with access.enter(principal, why="bench"):
        return list(Exchange.objects.within(principal.project_id))


def server_pid() -> int:
    """Return the web server that this process started."""
    (found,) = [c for c in psutil.Process().children() if "novamem.units web" in " ".join(c.cmdline())]
    return int(found.pid)


async def run(options: argparse.Namespace, url: str, upstream: str, caller: Caller, project: str) -> int:
    """Return all parts; how many chats were begun."""
    proxy = url + CHATS
    await first_bytes(caller, proxy, upstream, options.chats)
    pid = server_pid()
    await same_bytes(caller, proxy, pid, options.streams)
    await many_at_once(caller, proxy, pid, streams=options.at_once, rounds=options.rounds)
    before = len(waiting_rows := await asyncio.to_thread(waiting, project))
    expected = options.chats + 5 + options.streams + options.at_once * options.rounds
    print(f"\ncaptured so far: {before} of {expected} chats ({sum(len(row.turns) for row in waiting_rows)} turns)")
    return before + await cut(caller, proxy, pid, streams=options.at_once)


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=2000, help="in the namespace")
    parser.add_argument("--chats", type=int, default=200, help="for the time to the first byte")
    parser.add_argument("--streams", type=int, default=1000, help="varied ones")
    parser.add_argument("--at-once", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    print(machine())
    project = f"bench-{uuid.uuid4().hex[:8]}"
    key = json.loads(manage("apikey", "create", "--project", project, "--rate", "0", "--json"))["key"]
    log = Path(os.environ["NOVAMEM_DATA_DIR"]) / "proxy.log"
    with outside() as upstream:
        os.environ["PROXY_UPSTREAM_URL"] = upstream
        with serving(log=log) as url:
            begun = asyncio.run(measured(options, url, upstream, key, project))
    rows = waiting(project)
    halves = sum(turn["partial"] for row in rows for turn in row.turns)
    print(
        f"stopped by a signal with {options.at_once} streams running: {begun - len(rows)} of {options.at_once} lost,"
        f" {halves} answers marked partial"
    )
    connection.close()


async def measured(options: argparse.Namespace, url: str, upstream: str, key: str, project: str) -> int:
    """Fill the namespace, then measures."""
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:
        caller = Caller(client, key, f"{project}:main")
        rows = [{"namespace": f"{project}:main", "content": text} for text in texts(options.memories)]
        for start in range(0, len(rows), 500):
            answer = await client.post(
                f"{url}/api/v1/fragments/batch", json={"fragments": rows[start : start + 500]}, headers=caller.ours
            )
            answer.raise_for_status()
        return await run(options, url, upstream, caller, project)


if __name__ == "__main__":
    main()
