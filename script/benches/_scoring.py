"""Conversations with questions, and how much of their evidence a search found: shared by the benches that ask them."""

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEPTHS = (5, 10, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop"}
NAMES = [f"{kind}@{depth}" for kind in ("recall", "hit") for depth in DEPTHS]
# A long message is kept in pieces, "id#1", "id#2", …
PIECE = re.compile(r"#\d+$")
Row = dict[str, Any]


def is_beam(path: Path) -> bool:
    """Return whether a file has BEAM's layout (messages and questions about them), not LoCoMo's."""
    rows = json.loads(path.read_text())
    return isinstance(rows, dict) and "questions" in rows


def sessions(path: Path) -> dict[str, list[Row]]:
    """Return BEAM's messages as `/ingest` takes them, by conversation: each session is one."""
    found = defaultdict(list)
    for row in json.loads(path.read_text())["messages"]:
        message = {"role": row["role"], "content": row["content"], "id": str(row["id"])}
        found[f"{path.stem}:{row['session']}"].append(message)
    return dict(found)


def questions(path: Path) -> list[Row]:
    """Return the questions that name evidence; of LoCoMo's those of categories 1–4."""
    rows = json.loads(path.read_text())
    if is_beam(path):
        return [{**q, "category": q["kind"]} for q in rows["questions"] if q["evidence"]]
    rows = rows[0] if isinstance(rows, list) else rows
    return [q for q in rows["qa"] if q["category"] in CATEGORIES and q.get("evidence")]


def evidence(question: Row) -> set[str]:
    """Return the ids of the turns that answer a question; some files list several within one text."""
    return {part.strip() for text in question["evidence"] for part in str(text).replace(",", ";").split(";")} - {""}


def scored(question: Row, found: Sequence[str]) -> Row:
    """Return a question's category, recall (share of its evidence found) and hit (any of it found) at each depth.

    Depth counts different messages, whichever of their pieces were found.
    """
    found = list(dict.fromkeys(PIECE.sub("", source_id) for source_id in found))
    wanted, row = evidence(question), {"category": question["category"]}
    for depth in DEPTHS:
        hits = wanted & set(found[:depth])
        row[f"recall@{depth}"] = len(hits) / len(wanted)
        row[f"hit@{depth}"] = float(bool(hits))
    return row


def means(rows: Sequence[Row]) -> dict[str, float]:
    """Return the means over questions, by measure and depth."""
    return {name: round(statistics.fmean(row[name] for row in rows), 4) for name in NAMES}


def table(title: str, rows: Sequence[Row]) -> Row:
    """Print and return the means by category and over all."""
    groups = defaultdict(list)
    for row in rows:
        groups[CATEGORIES.get(row["category"], row["category"])].append(row)
    groups["all"] = list(rows)
    print(f"\n{title}\n{'':25}{'n':>5}" + "".join(f"{name:>11}" for name in NAMES))
    result = {}
    for name, members in groups.items():
        found = means(members)
        print(f"{name:25}{len(members):>5}" + "".join(f"{found[key]:>11.3f}" for key in NAMES))
        result[name] = {"n": len(members), **found}
    return result
