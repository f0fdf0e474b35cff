"""How much of a prompt's budget contexts waste, beside plain top-K of the same search. Arguments: LoCoMo, BEAM files.

Waste of an answer is the share of its budget that carries no whole memory: the unspent rest, or, where an answer is
longer than its budget, the overflow (fifteen memories of 4000 tokens for a budget of 2000 waste as much as they
carry). Top-K is the best fifteen of the same search, laid out by the same code: cut at the budget, and uncut.
"""

import argparse
import json
import statistics
import sys
import time
import uuid
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import httpx2
from _serving import machine, manage, serving

from script.benches._scoring import PIECE, evidence, questions
from script.benches.recall import store

BUDGETS = (300, 500, 800, 1200, 2000)  # tokens; 1200 is the default
TOP_K = 15  # what was handed out before it knew budgets
WAYS = ("density", "top-K cut", "top-K uncut")
MEASURED = ("tokens", "evidence", "dense")
KEYS = 60
Row = dict[str, Any]


def post(client: httpx2.Client, path: str, body: Row) -> Row:
    """Return the answer to a POST."""
    answer = client.post(f"/api/v1/{path}", json=body)
    answer.raise_for_status()
    result: Row = answer.json()
    return result


def turns(client: httpx2.Client, namespace: str) -> tuple[dict[str, str], dict[str, int]]:
    """Return by fragment id the id of its message, and how many characters it holds."""
    found, lengths = dict[str, str](), dict[str, int]()
    url = f"/api/v1/fragments?namespace={namespace}&limit=200"
    while url:
        page = client.get(url).raise_for_status().json()
        found |= {row["id"]: PIECE.sub("", row["source_id"]) for row in page["results"]}
        lengths |= {row["id"]: len(row["content"]) for row in page["results"]}
        url = page["next"]
    return found, lengths


def measure(client: httpx2.Client, namespace: str, asked_rows: Sequence[Row]) -> list[Row]:
    """For each question, budget and way: waste, tokens, the share of the evidence that is in the answer, and of its
    text that is evidence.
    """
    (said_in, lengths), rows = turns(client, namespace), []
    for item in asked_rows:
        question = {"namespace": namespace, "query": item["question"], "project_wide": False}
        wanted = evidence(item)
        best = {"packing": "priority", "max_memories": TOP_K}
        uncut = post(client, "context", {**question, **best, "max_tokens": None})
        for budget in BUDGETS:
            cut = post(client, "context", {**question, **best, "max_tokens": budget})
            packed = post(client, "context", {**question, "max_tokens": budget})
            for way, answer in zip(WAYS, (packed, cut, uncut), strict=True):
                included, tokens = answer["included"], answer["tokens_used"]
                held = wanted & {said_in[i] for i in included}
                row = {"budget": budget, "way": way, "waste": abs(budget - tokens) / budget, "tokens": tokens}
                told = sum(lengths[i] for i in included if said_in[i] in wanted)
                dense = told / (sum(lengths[i] for i in included) or 1)
                rows.append({**row, "evidence": len(held) / len(wanted), "dense": dense})
    return rows


def table(rows: Sequence[Row]) -> dict[str, Any]:
    """Print and returns medians of waste and means of the others by budget, and the ratios to both baselines."""
    print(
        f"\n{'budget':>8}{'':14}{'waste p50':>10}{'mean':>8}{'tokens':>8}{'evidence':>10}{'of text':>9}{'saved':>8}"
        "   (evidence: share that is in the answer, and of its text; saved: of the mean waste)"
    )
    figures: dict[str, Any] = {}
    for budget in (*BUDGETS, None):
        means = {}
        for way in WAYS:
            own = [row for row in rows if row["way"] == way and budget in (row["budget"], None)]
            waste = [row["waste"] for row in own]
            tokens, held, dense = (statistics.fmean(row[name] for row in own) for name in MEASURED)
            means[way] = statistics.fmean(waste)
            saved = f"{1 - means['density'] / means[way]:8.0%}" if way != "density" else ""
            print(
                f"{budget or 'all':>8}  {way:12}{statistics.median(waste):10.1%}{means[way]:8.1%}"
                f"{tokens:8.0f}{held:10.3f}{dense:9.3f}{saved}"
            )
        figures[str(budget or "all")] = means
    return figures


def tell(client: httpx2.Client, project: str) -> list[str]:
    """Sixty keys, each with a value that was replaced, one that stands, one in quarantine and one of another agent."""
    values, subjects = [], [f"visitor {n}" for n in range(KEYS)]
    for n, subject in enumerate(subjects):
        for place, value, source in (
            ("main", f"room {n}", "tool_output"),
            ("main", f"room {n + 100}", "tool_output"),
            ("main", f"room {n + 200}", "inference"),
            ("other", f"room {n + 300}", "tool_output"),
            ("shared", f"room {n + 400}", "inference"),
        ):
            claim = {"subject": subject, "predicate": "lives_in", "value": value}
            text = f"{subject.capitalize()} lives in {value}."
            values.append({"namespace": f"{project}:{place}", "content": text, "claim": claim})
            values[-1]["provenance"] = {"source": source}
    post(client, "fragments/batch", {"fragments": values})
    return subjects


def exposed(client: httpx2.Client, project: str, subjects: Sequence[str]) -> tuple[int, int, int]:
    """Of default answers about these subjects: how many, those with superseded memories, those with rivals."""
    count = stale = rivals = 0
    for subject in subjects:
        for packing in ("density", "priority"):
            body = {"namespace": f"{project}:main", "query": f"Where does {subject} live?", "packing": packing}
            included = post(client, "context", body)["included"]
            rows = client.get("/api/v1/fragments", params={"ids": ",".join(included), "status": "all"}).json()[
                "results"
            ]
            if len(rows) != len(included):
                raise SystemExit("an answer holds memories that can't be read")
            claims = [(row["claim"]["subject"], row["claim"]["value"]) for row in rows if row["claim"]]
            count += 1
            stale += any(row["status"] != "active" for row in rows)
            rivals += any(one[0] == two[0] and one[1] != two[1] for one, two in combinations(claims, 2))
    return count, stale, rivals


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, default=60, help="of each file, evenly spread")
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    options = parser.parse_args()
    print(machine())
    project = f"bench-{uuid.uuid4().hex[:8]}"
    key = json.loads(manage("apikey", "create", "--project", project, "--rate", "0", "--json"))["key"]
    rows: list[Row] = []
    with (
        serving() as url,
        httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):
        for path in options.files:
            namespace = f"{project}:{path.stem}"
            start = time.perf_counter()
            store(client, path, namespace)
            print(f"{path.name}: stored in {time.perf_counter() - start:.1f} s", file=sys.stderr)
            items = questions(path)
            rows += measure(client, namespace, items[:: max(1, len(items) // options.questions)])
        figures = table(rows)
        items, stale, rivals = exposed(client, project, tell(client, project))
    print(
        f"\n{len(rows) // len(BUDGETS) // len(WAYS)} questions of {len(options.files)} conversations."
        f"\nDefault answers about {KEYS} contested keys: {items}; with anything superseded {stale / items:.0%}, with"
        f" claims that exclude each other {rivals / items:.0%}."
    )
    if options.json:
        print(json.dumps({"waste": figures, "answers": items, "stale": stale, "rivals": rivals}))


if __name__ == "__main__":
    main()
