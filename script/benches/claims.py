"""Precision and recall of the built-in claim extractor on 300 labelled turns. Arguments: LoCoMo files."""

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import django
from _serving import machine

LABELS = Path(__file__).with_name("_claim_labels.json")
HELD_OUT = "locomo-41"
PRECISION_GOAL, RECALL_GOAL = 0.95, 0.45
# Predicates that name the same thing seen differently: "joined a gym" is a deed and a membership.
EQUIVALENTS = (
    {"has_done", "visited", "attended", "member_of", "owns", "pet", "studied_at", "works_at"},
    {"has_done", "busy_with", "works_on", "plays", "reads", "studies"},
    {"busy_with", "likes", "plays"},
    {"plans_to", "plans_to_visit", "goal", "wants"},
)
STEM = 4  # letters that two forms of a word have in common
WORD = re.compile(r"[^\W_]+")
Claim = tuple[str, str, str]


def turns(path: Path) -> Iterator[dict[str, Any]]:
    """Return the turns of a conversation, in their order."""
    talk = json.loads(path.read_text())
    talk = talk.get("conversation", talk)
    for name in sorted((n for n in talk if re.fullmatch(r"session_\d+", n)), key=lambda n: int(n[8:])):
        yield from talk[name]


def claimed(turn: dict[str, Any]) -> list[Claim]:
    """Return what the fragment of a turn would claim."""
    from memories.extraction import read_text

    reading = read_text(f"{turn['speaker']}: {turn['text'].strip()}", {}, speaker=turn["speaker"])
    return [(claim.subject, claim.predicate, claim.value) for claim in reading.claims]


def stems(text: str) -> set[str]:
    """Return the beginnings of the words that say something."""
    from memories.language.word_lists import STOPWORDS

    words = (word.casefold() for word in WORD.findall(text))
    return {word[:STEM] for word in words if word not in STOPWORDS}


def is_match(claim: Claim, label: Iterable[str]) -> bool:
    """Return whether a claim is what a label says: one subject, predicates alike, a content word in common."""
    subject, predicate, words, *_ = label
    alike = claim[1] == predicate or any({claim[1], predicate} <= group for group in EQUIVALENTS)
    return claim[0] == subject and alike and bool(stems(claim[2]) & stems(words))


def judged(path: Path, labels: dict[str, list[list[str]]], *, show: bool) -> dict[str, Counter[str]]:
    """Return by predicate how many claims were right and wrong, how many labels were found and wanted."""
    from conflicts.keys import canonical_predicate

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in turns(path):
        wanted = labels.get(turn["dia_id"])
        if wanted is None:
            continue
        wanted = [[label[0], canonical_predicate(label[1]), *label[2:]] for label in wanted]
        claims = claimed(turn)
        for claim in claims:
            right = any(is_match(claim, label) for label in wanted)
            counts[claim[1]]["right" if right else "wrong"] += 1
            if show and not right:
                print(f"  wrong  {turn['dia_id']}: {' / '.join(claim)}")
        for label in wanted:
            if label[3:] == ["optional"]:
                continue
            found = any(is_match(claim, label) for claim in claims)
            counts[label[1]]["found" if found else "missed"] += 1
            if show and not found:
                print(f"  missed {turn['dia_id']}: {' / '.join(label)}")
    return counts


def share(part: int, rest: int) -> float | None:
    """Return a part of the whole; None of nothing."""
    return round(part / (part + rest), 4) if part + rest else None


def figures(count: Counter[str]) -> dict[str, Any]:
    """Return precision and recall with what they are made of."""
    precision, recall = share(count["right"], count["wrong"]), share(count["found"], count["missed"])
    return {"precision": precision, "recall": recall, **{name: count[name] for name in NAMES}}


NAMES = ("right", "wrong", "found", "missed")


def table(title: str, counts: dict[str, Counter[str]]) -> dict[str, Any]:
    """Print and return the figures by predicate and of all."""
    rows = {name: figures(count) for name, count in sorted(counts.items())}
    rows["all"] = figures(sum(counts.values(), Counter()))
    print(f"\n{title:18}precision    recall" + "".join(f"{name:>9}" for name in NAMES))
    for name, row in rows.items():
        shares = "".join(f"{'–' if row[n] is None else format(row[n], '.3f'):>10}" for n in ("precision", "recall"))
        print(f"{name:17}{shares}" + "".join(f"{row[n]:>9}" for n in NAMES))
    return rows


def added(tables: Iterable[dict[str, Counter[str]]]) -> dict[str, Counter[str]]:
    """Return the counts of several conversations together."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for counts in tables:
        for predicate, count in counts.items():
            total[predicate] += count
    return total


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="also list what was wrong and what was missed")
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    options = parser.parse_args()
    django.setup()
    print(machine())
    print("the same: " + "; ".join(" = ".join(sorted(group)) for group in EQUIVALENTS))
    labels = json.loads(LABELS.read_text())
    found, results, claiming, total = {}, {}, 0, 0
    for path in options.files:
        claims = [claimed(turn) for turn in turns(path)]
        claiming, total = claiming + sum(map(bool, claims)), total + len(claims)
        some, number = sum(map(bool, claims)), sum(map(len, claims))
        print(f"\n{path.stem}: {some} of {len(claims)} turns claim something, {number} claims")
        if path.stem in labels:
            found[path.stem] = judged(path, labels[path.stem], show=options.show)
            results[path.stem] = table(path.stem, found[path.stem])
    results["seen"] = table("seen", added(found[name] for name in found if name != HELD_OUT))
    if HELD_OUT in found:
        results["held out"] = table("held out", found[HELD_OUT])
    print(f"\ngoals: precision ≥ {PRECISION_GOAL}, recall ≥ {RECALL_GOAL}")
    print(f"yield: {claiming} of {total} turns ({claiming / total:.3f})")
    if options.json:
        print(json.dumps({"claims": results, "yield": claiming / total, "turns": total}))


if __name__ == "__main__":
    main()
