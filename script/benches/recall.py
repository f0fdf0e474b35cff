"""Evidence recall on LoCoMo and BEAM: stores conversations, asks their questions over HTTP. Arguments: files."""

import argparse
import json
import statistics
import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import django
import httpx2
from _serving import machine, manage, serving

from script.benches._scoring import DEPTHS, is_beam, questions, scored, sessions, table


def store(client: httpx2.Client, path: Path, namespace: str) -> None:
    """LoCoMo as `manage.py ingest` reads it; BEAM by `/ingest`, each session a conversation."""
    if not is_beam(path):
        manage("ingest", "--namespace", namespace, str(path))
        return
    for conversation, rows in sessions(path).items():
        body = {"namespace": namespace, "conversation_id": conversation, "messages": rows}
        client.post("/api/v1/ingest", json=body, timeout=600).raise_for_status()


def ask(client: httpx2.Client, namespace: str, question: str, **more: Any) -> tuple[list[str], float]:
    """Return the source ids of the best twenty, and the milliseconds of the whole request."""
    body = {"namespace": namespace, "query": question, "top_k": max(DEPTHS), "project_wide": False, **more}
    start = time.perf_counter()
    answer = client.post("/api/v1/search", json=body)
    took = (time.perf_counter() - start) * 1000
    answer.raise_for_status()
    return [row["source_id"] for row in answer.json()["results"]], took


DIM = 384  # of the models that come with the package
UNRELATED = Path(__file__).with_name("_unrelated_blind.json")
REFUSED_GOAL, LOST_GOAL = 0.95, 0.01


def floored(
    client: httpx2.Client, path: Path, namespace: str, rows: Sequence[dict[str, Any]]
) -> dict[str, list[float]]:
    """Return by kind of unrelated question whether nothing was answered; and the recall@10 that each question loses."""
    found = defaultdict(list)
    for item in json.loads(UNRELATED.read_text()):
        found[item["kind"]].append(float(not ask(client, namespace, item["text"])[0]))
    for item, row in zip(questions(path), rows, strict=True):
        free = scored(item, ask(client, namespace, item["question"], floor=0)[0])
        found["recall@10 lost"].append(free["recall@10"] - row["recall@10"])
    return found


def floor_table(kind: str, found: dict[str, list[float]]) -> dict[str, float]:
    """Print and return the share of unrelated questions that were answered by nothing, and the recall lost."""
    refused = [value for name, values in found.items() if name != "recall@10 lost" for value in values]
    means = {name: round(statistics.fmean(values), 4) for name, values in found.items()} | {
        "all unrelated": round(statistics.fmean(refused), 4)
    }
    print(f"\n{kind}: answered by nothing (≥ {REFUSED_GOAL}), recall@10 lost (≤ {LOST_GOAL})")
    for name, share in means.items():
        print(f"{name:25}{share:>11.3f}")
    return means


def measure(client: httpx2.Client, path: Path, namespace: str, **more: Any) -> tuple[list[dict[str, Any]], list[float]]:
    """Per question its category, recall and hit at each depth; and the times."""
    rows, times = [], []
    for item in questions(path):
        found, took = ask(client, namespace, item["question"], **more)
        times.append(took)
        rows.append(scored(item, found))
    return rows, times


def beside(client: httpx2.Client, files: Sequence[Path], project: str, model: str) -> dict[str, Any]:
    """Print and return recall and the times of searches by another model."""
    found: dict[str, list[dict[str, Any]]] = {"LoCoMo": [], "BEAM": []}
    times = []
    with switched(model, project):
        for path in files:
            rows, took = measure(client, path, f"{project}:{path.stem}")
            found["BEAM" if is_beam(path) else "LoCoMo"] += rows
            times += took[5:]
    figures = {kind: table(f"{kind}, all files, by {model}", rows) for kind, rows in found.items() if rows}
    print(f"\nby {model}: p50 {statistics.median(times):.1f} ms")
    return {"recall": figures, "p50_ms": statistics.median(times)}


@contextmanager
def switched(model: str, project: str) -> Iterator[None]:
    """A project's texts have vectors of another model of the package, which answers meanwhile; it is retired then."""
    (active,) = [row["name"] for row in json.loads(manage("models", "list", "--json")) if row["state"] == "active"]
    manage("reembed", "--model", model, "--provider", model, "--dim", str(DIM), "--project", project)
    try:
        manage("models", "activate", model, "--force")  # older texts of this database need none
        yield
    finally:
        manage("models", "activate", active, "--force")
        manage("models", "retire", model)


def over_http(files: Sequence[Path], project: str, model: str | None) -> dict[str, Any]:
    """Recall by file and over all of each layout, and the times of searches; printed and returned."""
    key = json.loads(manage("apikey", "create", "--project", project, "--rate", "0", "--json"))["key"]
    figures: dict[str, Any] = {}
    everything: dict[str, list[dict[str, Any]]] = {"LoCoMo": [], "BEAM": []}
    floors: dict[str, dict[str, list[float]]] = {"LoCoMo": defaultdict(list), "BEAM": defaultdict(list)}
    times = []
    with (
        serving() as url,
        httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):
        for path in files:
            namespace = f"{project}:{path.stem}"
            start = time.perf_counter()
            store(client, path, namespace)
            print(f"{path.name}: stored in {time.perf_counter() - start:.1f} s", file=sys.stderr)
            rows, took = measure(client, path, namespace)
            figures[path.name] = table(path.name, rows)
            kind = "BEAM" if is_beam(path) else "LoCoMo"
            everything[kind] += rows
            for name, values in floored(client, path, namespace, rows).items():
                floors[kind][name] += values
            times += took[5:]  # the first requests load the model
        by_model = {"by_model": beside(client, files, project, model)} if model else {}
    figures |= {kind: table(f"{kind}, all files", rows) for kind, rows in everything.items() if rows}
    refused = {kind: floor_table(kind, found) for kind, found in floors.items() if found}
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[18]
    print(
        f"\nsearch over HTTP, one client, top_k {max(DEPTHS)}, {len(times)} requests:"
        f" p50 {p50:.1f} ms, p95 {p95:.1f} ms"
    )
    return {"recall": figures, "floor": refused, "p50_ms": p50, "p95_ms": p95, **by_model}


def ablated(files: Sequence[Path], project: str) -> dict[str, Any]:
    """Return what each part of the hybrid contributes, and each side alone."""
    django.setup()
    from script.benches._ablation import ablate  # its models need Django to be set up

    return ablate(project, files)


def left_out(files: Sequence[Path], project: str) -> dict[str, Any]:
    """Return what to expect of a conversation that had no part in the choice of the constants."""
    django.setup()
    from script.benches._leave_one_out import leave_one_out

    return leave_one_out(project, files)


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--ablation", action="store_true", help="what each part of the hybrid adds, in process")
    how.add_argument(
        "--leave-one-out", action="store_true", help="each file by constants chosen on the others, in process"
    )
    how.add_argument("--model", metavar="NAME", help="also by another model of the package, such as minilm-int8")
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    options = parser.parse_args()
    print(machine())
    run = (
        ablated if options.ablation else left_out if options.leave_one_out else partial(over_http, model=options.model)
    )
    figures = run(options.files, f"bench-{uuid.uuid4().hex[:8]}")
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
