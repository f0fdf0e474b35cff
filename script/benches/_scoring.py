"""LoCoMo's questions, and how much of their evidence a search found: shared by the benches that ask them."""

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEPTHS = (5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}
NAMES = [f"{kind}@{depth}" for kind in ("recall", "hit") for depth in DEPTHS]
Row = dict[str, Any]


def questions(path: Path) -> list[Row]:
    """The questions of categories 1–4 that name evidence."""
    rows = json.loads(path.read_text())
    rows = rows[0] if isinstance(rows, list) else rows
    return [q for q in rows["qa"] if q["category"] in CATEGORIES and q.get("evidence")]


def evidence(question: Row) -> set[str]:
    """The `dia_id`s of the turns that answer a question; some files list several within one text."""
    return {part.strip() for text in question["evidence"] for part in text.replace(",", ";").split(";")} - {""}


def scored(question: Row, found: Sequence[str]) -> Row:
    """A question's category, recall (share of its evidence found) and hit (any of it found) at each depth."""
    wanted, row = evidence(question), {"category": question["category"]}
    for depth in DEPTHS:
        hits = wanted & set(found[:depth])
        row[f"recall@{depth}"] = len(hits) / len(wanted)
        row[f"hit@{depth}"] = float(bool(hits))
    return row


def means(rows: Sequence[Row]) -> dict[str, float]:
    """The means over questions, by measure and depth."""
    return {name: round(statistics.fmean(row[name] for row in rows), 4) for name in NAMES}


def table(title: str, rows: Sequence[Row]) -> Row:
    """Prints and returns the means by category and over all."""
    groups = defaultdict(list)
    for row in rows:
        groups[CATEGORIES[row["category"]]].append(row)
    groups["all"] = list(rows)
    print(f"\n{title}\n{'':12}{'n':>5}" + "".join(f"{name:>11}" for name in NAMES))
    result = {}
    for name, members in groups.items():
        found = means(members)
        print(f"{name:12}{len(members):>5}" + "".join(f"{found[key]:>11.3f}" for key in NAMES))
        result[name] = {"n": len(members), **found}
    return result
