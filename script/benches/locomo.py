"""LoCoMo evidence recall: stores conversations turn by turn, asks their questions over HTTP. Arguments: files."""

import argparse
import json
import statistics
import sys
import time
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx2
from _serving import machine, manage, serving

DEPTHS = (5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}


def questions(path: Path) -> list[dict[str, Any]]:
    """The questions of categories 1–4 that name evidence."""
    rows = json.loads(path.read_text())
    rows = rows[0] if isinstance(rows, list) else rows
    return [q for q in rows["qa"] if q["category"] in CATEGORIES and q.get("evidence")]


def ask(client: httpx2.Client, namespace: str, question: str) -> tuple[list[str], float]:
    """The source ids of the best twenty, and the milliseconds of the whole request."""
    body = {"namespace": namespace, "query": question, "top_k": max(DEPTHS), "project_wide": False}
    start = time.perf_counter()
    answer = client.post("/api/v1/search", json=body)
    took = (time.perf_counter() - start) * 1000
    answer.raise_for_status()
    return [row["source_id"] for row in answer.json()["results"]], took


def measure(client: httpx2.Client, path: Path, namespace: str) -> tuple[list[dict[str, Any]], list[float]]:
    """Per question its category, recall and hit at each depth; and the times."""
    rows, times = [], []
    for item in questions(path):
        wanted = {
            part.strip() for text in item["evidence"] for part in text.replace(",", ";").split(";") if part.strip()
        }
        found, took = ask(client, namespace, item["question"])
        times.append(took)
        row: dict[str, Any] = {"category": item["category"]}
        for depth in DEPTHS:
            hits = wanted & set(found[:depth])
            row[f"recall@{depth}"] = len(hits) / len(wanted)
            row[f"hit@{depth}"] = float(bool(hits))
        rows.append(row)
    return rows, times


def table(title: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Prints and returns the means by category and over all."""
    groups = defaultdict(list)
    for row in rows:
        groups[CATEGORIES[row["category"]]].append(row)
    groups["all"] = rows
    names = [f"{kind}@{depth}" for kind in ("recall", "hit") for depth in DEPTHS]
    print(f"\n{title}\n{'':12}{'n':>5}" + "".join(f"{name:>11}" for name in names))
    result = {}
    for name, members in groups.items():
        means = {key: round(statistics.fmean(row[key] for row in members), 4) for key in names}
        print(f"{name:12}{len(members):>5}" + "".join(f"{means[key]:>11.3f}" for key in names))
        result[name] = {"n": len(members), **means}
    return result


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    options = parser.parse_args()
    print(machine())
    project = f"bench-{uuid.uuid4().hex[:8]}"
    key = json.loads(manage("apikey", "create", "--project", project, "--rate", "0", "--json"))["key"]
    figures, everything, times = {}, [], []
    with (
        serving() as url,
        httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):
        for path in options.files:
            namespace = f"{project}:{path.stem}"
            start = time.perf_counter()
            manage("ingest", "--namespace", namespace, str(path))
            print(f"{path.name}: stored in {time.perf_counter() - start:.1f} s", file=sys.stderr)
            rows, took = measure(client, path, namespace)
            figures[path.name] = table(path.name, rows)
            everything += rows
            times += took[5:]  # the first requests load the model
    figures["all files"] = table("all files", everything)
    p50, p95 = statistics.median(times), statistics.quantiles(times, n=20)[18]
    print(
        f"\nsearch over HTTP, one client, top_k {max(DEPTHS)}, {len(times)} requests:"
        f" p50 {p50:.1f} ms, p95 {p95:.1f} ms"
    )
    if options.json:
        print(json.dumps({"recall": figures, "p50_ms": p50, "p95_ms": p95}))


if __name__ == "__main__":
    main()
