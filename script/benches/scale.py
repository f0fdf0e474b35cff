"""Scale: searches over HTTP while writes go on, in namespaces of growing size; recall against exact search.

Fills a database with sentences and vectors around real embeddings of such sentences, then asks. Two layouts: `many`
(fifty projects, one of which holds a tenth of everything) and `one` (all in one namespace).

    script/bench scale                          # 5,000, 50,000 and 500,000 fragments in both layouts: about 40 minutes
    script/bench scale --fragments 50000 --layout one
"""

import argparse
import datetime
import itertools
import os
import random
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import django
import httpx2
from _serving import machine, serving

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from _bare_copies import memories_in
from _population import WHO, Ground, Texts, fill, question, sentence
from django.db import connection, connections
from django.utils import timezone

from memories import access
from memories.models import Namespace, vector_text
from memories.providers import active_model, embed, embed_query
from memories.rest import search
from memories.rest.fields import validated
from memories.retrieval.candidate_search import Search, indexed, nearest, passing
from memories.retrieval.query_features import Cues
from memories.retrieval.questions import Filters, Reach
from memories.retrieval.search_scopes import scopes_of
from novamem.slow_requests import StatementClock

SIZES = (5_000, 50_000, 500_000)
CLIENTS, WRITERS, WRITES = 4, 10, 20
# What stands of each of the persons of whom the texts speak.
CLAIMED = ("lives_in", "works_at", "favourite_colour", "pets", "budget", "birthday")
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "type": {"type": ["semantic"]},
    "source": {"source_type": ["document"]},
    "type, weight": {"type": ["episodic", "procedural"], "min_weight": 0.4},
    "tag": {"tags": ["t7"]},
    "agent": {"agent": ["ann", "bo"]},
    "outcome": {"outcome": ["negative"]},
    "since": {"since": (timezone.now() - datetime.timedelta(hours=24)).isoformat()},
}


def ask(client: httpx2.Client, ground: Ground, query: str, filters: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """Milliseconds of the whole request, and of its stages."""
    body = {"namespace": ground.namespace, "query": query, "filters": filters, "project_wide": False}
    start = time.perf_counter()
    answer = client.post("/api/v1/search", json=body, headers={"Authorization": f"Bearer {ground.key}"})
    took = (time.perf_counter() - start) * 1000
    answer.raise_for_status()
    return took, answer.json()["took_ms"]


def asked(grounds: list[Ground], seed: int) -> Iterator[tuple[Ground, str, str]]:
    """Return who asks what, with which filter: large namespaces are asked as often as they are large."""
    rng = random.Random(seed)
    weights = [ground.fragments for ground in grounds]
    kinds = ["none", *FILTERS]  # a third without
    while True:
        yield rng.choices(grounds, weights)[0], question(rng), rng.choice(kinds)


def write_on(url: str, grounds: list[Ground], stop: threading.Event, times: list[float], place: int) -> None:
    """One of the writers that store twenty a second together, each in its turn, until told to stop."""
    rng = random.Random(900 + place)
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        due = time.perf_counter() + place / WRITES
        while not stop.wait(max(0.0, due - time.perf_counter())):
            ground = rng.choice(grounds)
            start = time.perf_counter()
            client.post(
                "/api/v1/fragments",
                json={"namespace": ground.namespace, "content": sentence(rng)},
                headers={"Authorization": f"Bearer {ground.key}"},
            ).raise_for_status()
            times.append((time.perf_counter() - start) * 1000)
            due += WRITERS / WRITES


def in_batches(url: str, ground: Ground) -> None:
    """Texts a second in batches over HTTP: embedded later beside a bare COPY, also where claims stand; and at once."""
    rng, alone, project = random.Random(4), list[float](), ground.principal.project
    took: dict[str, list[float]] = {"later": [], "claimed": [], "now": []}
    with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:

        def store(fragments: list[dict[str, Any]], when: str) -> float:
            """Texts a second."""
            body, start = {"fragments": fragments, "embed": when}, time.perf_counter()
            answer = client.post(
                "/api/v1/fragments/batch", json=body, headers={"Authorization": f"Bearer {ground.key}"}
            )
            took = len(fragments) / (time.perf_counter() - start)
            answer.raise_for_status()
            return took

        claims = ({"subject": who, "predicate": what, "value": sentence(rng)} for who in WHO for what in CLAIMED)
        store([{"namespace": f"{project}:claimed", "content": str(one), "claim": one} for one in claims], "later")
        for kind, size in [("later", 1_000)] * 5 + [("claimed", 1_000)] * 3 + [("now", 200)] * 3:
            texts = [sentence(rng) for _ in range(size)]
            beside = f"{project}:{'claimed' if kind == 'claimed' else 'batches'}"
            when = "now" if kind == "now" else "later"
            took[kind].append(store([{"namespace": beside, "content": text} for text in texts], when))
            if kind == "now":
                start = time.perf_counter()
                embed([f"{text} " for text in texts], model=active_model())
                alone.append(size / (time.perf_counter() - start))
    bare = memories_in(ground.principal.project_id, size=1_000)
    later, claimed, now, only = map(statistics.median, (*took.values(), alone))
    print(
        f"  stored in batches: {later:,.0f} fragments/s without embedding, 1/{bare / later:.1f} of a bare COPY"
        f" ({bare:,.0f}), {claimed:,.0f} where {len(WHO) * len(CLAIMED)} claims stand, {now:,.0f} with it,"
        f" {now / only:.0%} of the embedder alone ({only:,.0f})"
    )


def load(url: str, grounds: list[Ground], seconds: float) -> tuple[float, float]:
    """Four clients with mixed filters while writes go on; p50 and p99 of their searches."""
    took: dict[str, list[float]] = defaultdict(list)
    stages: dict[str, list[float]] = defaultdict(list)
    writes: list[float] = []
    lock, stop = threading.Lock(), threading.Event()

    def client(seed: int) -> None:
        with httpx2.Client(base_url=url, timeout=60, trust_env=False) as http:
            for ground, query, kind in asked(grounds, seed):
                if stop.is_set():
                    return
                whole, parts = ask(http, ground, query, FILTERS[kind])
                with lock:
                    took[kind].append(whole)
                    for name, part in parts.items():
                        stages[name].append(part)

    writers = [threading.Thread(target=write_on, args=(url, grounds, stop, writes, place)) for place in range(WRITERS)]
    clients = [threading.Thread(target=client, args=(seed,)) for seed in range(CLIENTS)]
    for thread in (*writers, *clients):
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in (*writers, *clients):
        thread.join()
    everything = list(itertools.chain(*took.values()))
    print(f"  {CLIENTS} clients, {len(everything)} searches, {len(writes)} writes in {seconds:.0f} s (milliseconds)")
    for kind, times in [("all", everything), *took.items()]:
        print(f"    {kind:14}" + percentiles(times))
    print(f"    {'a write':14}" + percentiles(writes))
    whole = statistics.median(everything)
    shares = {name: statistics.median(parts) / whole for name, parts in stages.items() if name != "total"}
    shares["the rest (HTTP, key, serializing)"] = 1 - sum(shares.values())
    print("    share of each stage: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    return whole, statistics.quantiles(everything, n=100, method="inclusive")[98]


def percentiles(times: list[float]) -> str:
    """p50, p95, p99."""
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return f"p50 {cuts[49]:7.1f}  p95 {cuts[94]:7.1f}  p99 {cuts[98]:7.1f}  n {len(times)}"


def bare(url: str, ground: Ground, rounds: int) -> None:
    """One client's search over the bare SQL and embedding of the same query: its own statements, and vectors alone."""
    model, whole = active_model(), list[float]()
    caller = access.principal_of_key(ground.key, now=timezone.now())  # the system reads all users' scopes as one
    parts: dict[str, list[float]] = {"its own SQL": [], "vector SQL alone": []}
    with access.enter(ground.principal, why="bench"):
        scopes = scopes_of(Namespace.objects.within(ground.principal.project_id).filter(name=ground.namespace))
        ready = indexed(scopes, model)
    questions = [query for _, query, _ in itertools.islice(asked([ground], 77), rounds)]
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        for query in questions:
            whole.append(ask(client, ground, query, {})[0])
            start = time.perf_counter()
            vector = embed_query(f"{query} ", model=model)
            embedded = time.perf_counter() - start
            parts["its own SQL"].append((embedded + waited_for_sql(caller, ground, query)) * 1000)
            start = time.perf_counter()
            request = wanted(query, vector, Filters(), most=10)
            with access.enter(ground.principal, why="bench"):
                nearest(scopes, request, indexed=ready)
            parts["vector SQL alone"].append((embedded + time.perf_counter() - start) * 1000)
    connections.close_all()
    print(
        f"  one client, {ground.fragments:,} fragments: {percentiles(whole)}; of the bare SQL + embedding of the query"
    )
    for name, times in parts.items():
        ratio = statistics.median(whole) / statistics.median(times)
        print(f"    {name:17} p50 {statistics.median(times):7.1f}  × {ratio:.2f}")


def waited_for_sql(caller: access.Principal, ground: Ground, query: str) -> float:
    """Return the seconds for which a caller's search waits for its statements, prepared as a request's are."""
    clock = StatementClock()
    with connection.execute_wrapper(clock):
        body = {"namespace": ground.namespace, "query": query, "project_wide": False}
        search.search_answer(caller, validated(search.SearchInput, body))
    return clock.seconds


def wanted(query: str, vector: Any, filters: Filters, *, most: int) -> Search:
    """Return a search of the vectors alone."""
    now = timezone.now()
    return Search(query, vector_text(vector), active_model(), filters, Reach("", now), Cues(), now, most)


def recall(grounds: list[Ground], rounds: int) -> None:
    """The ten nearest as found, against the ten nearest exactly, by filter; without one, what both ways take."""
    model, ground = active_model(), max(grounds, key=lambda ground: ground.fragments)
    found: dict[str, list[float]] = defaultdict(list)
    took: dict[str, list[tuple[float, float]]] = defaultdict(list)
    questions = [query for _, query, _ in itertools.islice(asked([ground], 5), rounds)]
    for query in questions:
        vector = embed_query(query, model=model)
        with access.enter(ground.principal, why="bench"):
            scopes = scopes_of(Namespace.objects.within(ground.principal.project_id).filter(name=ground.namespace))
            ready = indexed(scopes, model)
            for kind, filters in FILTERS.items():
                request = wanted(query, vector, Filters(**validated(search.FilterInput, filters)), most=100)
                began = time.perf_counter()
                near = list(nearest(scopes, request, indexed=ready, among=passing(scopes, request))[0])[:10]
                between = time.perf_counter()
                exact = list(nearest(scopes, request, indexed={})[0])[:10]
                took[kind].append((between - began, time.perf_counter() - between))
                found[kind].append(len(set(near) & set(exact)) / max(1, len(exact)))
    connections.close_all()
    text = ", ".join(f"{kind} {statistics.fmean(values):.3f}" for kind, values in found.items())
    print(f"  recall@10 against exact, {ground.fragments:,} fragments: {text}")
    chosen, exactly = (statistics.median(times) * 1000 for times in zip(*took["none"], strict=True))
    print(f"  its vectors: {chosen:.1f} ms {'by their index' if ready else 'one by one'}, {exactly:.1f} ms one by one")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fragments", type=int, action="append", help="sizes, by default 5,000, 50,000, 500,000")
    parser.add_argument("--layout", choices=["many", "one"], action="append", help="by default both")
    parser.add_argument("--seconds", type=float, default=30, help="of searching under load")
    parser.add_argument("--rounds", type=int, default=40, help="queries for recall and for one client")
    options = parser.parse_args()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        print(f"{machine()}, Postgres {cursor.fetchone()[0]}, load {os.getloadavg()[0]:.1f}")
    texts = Texts()
    grown: dict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for name, size in itertools.product(options.layout or ["many", "one"], options.fragments or SIZES):
        start = time.perf_counter()
        grounds = fill(texts, name, size)
        print(f"\n{name}: {size:,} fragments, filled in {time.perf_counter() - start:.0f} s")
        recall(grounds, options.rounds)
        with serving() as url:
            bare(url, max(grounds, key=lambda ground: ground.fragments), options.rounds)
            in_batches(url, grounds[0])
            grown[name][size] = load(url, grounds, options.seconds)
    growth(grown)


def growth(grown: dict[str, dict[int, tuple[float, float]]]) -> None:
    """How p50 and p99 grow with the fragments."""
    print("\ngrowth under load (milliseconds, × the smallest)")
    for name, sizes in grown.items():
        first = sizes[min(sizes)]
        for size, (p50, p99) in sorted(sizes.items()):
            print(
                f"  {name:5} {size:>8,}  p50 {p50:7.1f} × {p50 / first[0]:.2f}   p99 {p99:7.1f} × {p99 / first[1]:.2f}"
            )


if __name__ == "__main__":
    main()
