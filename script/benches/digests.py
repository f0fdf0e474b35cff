"""Digests: evidence recall before and after aged conversations are consolidated, and how many tokens stay active.

Conversations are ingested as `recall` does, then consolidated run by run, as of some months later, until nothing is put
off. A digest counts as a turn that answers a question when it came of that turn and holds what the turn says of the
answer: of the words that the turn shares with question and answer at least those of the answer, or two thirds of all.

    script/bench digests shared/eval/locomo-*.json
"""

import argparse
import datetime
import json
import statistics
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import django
from _serving import machine

django.setup()

# Django has to be set up before its models can be imported.
from django.utils import timezone
from rich.progress import track

from memories import access, jobs, retrieval, upkeep
from memories.access import Principal, keys
from memories.language.tokenizer import WORD
from memories.language.word_lists import STOPWORDS
from memories.models import Fragment, Namespace
from memories.models.enums import Status
from script.benches._ablation import ingested
from script.benches._scoring import PIECE, evidence, questions

DEPTH, MOST_READ = 10, 50
CONTEXT = 1200  # tokens
MONTHS = datetime.timedelta(days=120)
HELD = 2 / 3  # of the words that a turn shares with question and answer
MOST_RUNS = 200
PER_TOKEN = 4  # characters


Shares = tuple[float, float]


def _words(text: str) -> set[str]:
    """Return the stems of a text that carry meaning, roughly: their first six letters."""
    return {word[:6] for word in WORD.findall(text.casefold()) if word not in STOPWORDS}


def holds(digest: str, turn: str, question: Mapping[str, Any]) -> bool:
    """Return whether a digest still says what a turn says of the answer to a question."""
    kept, said = _words(digest), _words(turn.partition(": ")[2] or turn)
    answer = _words(str(question["answer"])) & said
    shared = (_words(question["question"]) | _words(str(question["answer"]))) & said
    return (bool(answer) and answer <= kept) or (bool(shared) and len(shared & kept) >= HELD * len(shared))


def answered(
    principal: Principal, namespace: str, item: Mapping[str, Any], turns: Mapping[str, str], now: Any
) -> Shares:
    """Return the share of a question's evidence among the first ten, and in a context's tokens; see `holds`."""
    question = retrieval.Question(item["question"], [namespace], project_wide=False, top_k=MOST_READ)
    wanted, ten, told, tokens = evidence(item), set(), set(), 0
    for place, hit in enumerate(retrieval.find(principal, question, now=now).hits):
        row = hit.fragment
        sources = {PIECE.sub("", source) for source in row.source_ids} & wanted
        found = {s for s in sources if row.category != "digest" or holds(row.content, turns.get(s, ""), item)}
        tokens += -(-len(row.content) // PER_TOKEN)
        ten |= found if place < DEPTH else set()
        told |= found if tokens <= CONTEXT else set()
    return len(ten) / len(wanted), len(told) / len(wanted)


def standing(principal: Principal, namespace: str) -> dict[str, int]:
    """Return how many memories are active, how many of them digests, and their tokens."""
    with access.enter(principal, why="bench"):
        rows = Fragment.objects.within(principal.project_id).filter(namespace__name=namespace, status=Status.ACTIVE)
        found = list(rows.values_list("content", "category"))
    return {
        "active": len(found),
        "digests": sum(category == "digest" for _, category in found),
        "tokens": sum(-(-len(content) // PER_TOKEN) for content, _ in found),
    }


def consolidated(principal: Principal, namespace: str, *, now: datetime.datetime) -> dict[str, int]:
    """Consolidate until a run puts nothing off; the sums of the reports."""
    sums = {"runs": 0, "merged": 0, "digested": 0, "archived": 0}
    with access.enter(principal, why="bench"):
        space = Namespace.objects.within(principal.project_id).get(name=namespace)
    for number in track(range(MOST_RUNS), description=namespace, transient=True):
        options = {"kind": "consolidate", "namespace": space, "options": {"confirm": True}}
        moment = now + datetime.timedelta(hours=number)
        operation = jobs.start(principal, **options, now=moment, wake_up=False)
        ended = jobs.run(principal, operation.id)
        assert ended is not None
        assert ended.state == "succeeded", (ended.error, ended.report)
        sums["runs"] += 1
        sums["merged"] += ended.report["merged"]
        sums["digested"] += ended.report["compressed"]["source_memories"]
        sums["archived"] += ended.report["archived"]
        if not ended.report["deferred"]:
            break
    return sums


def measure(principal: Principal, path: Path, months: datetime.timedelta) -> dict[str, Any]:
    """Return the figures of a conversation, before and after."""
    namespace = ingested(principal, path, "english")
    upkeep.graph.refresh_graph(principal, now=timezone.now())
    retrieval.refresh_statistics(principal, now=timezone.now())
    with access.enter(principal, why="bench"):
        rows = Fragment.objects.within(principal.project_id).filter(namespace__name=namespace)
        turns: dict[str, str] = {}
        for source, content in rows.order_by("sequence").values_list("source_id", "content"):
            turns[PIECE.sub("", source)] = f"{turns.get(PIECE.sub('', source), '')} {content}"
    now, asked = timezone.now(), questions(path)
    before = [answered(principal, namespace, item, turns, now) for item in asked]
    stood = standing(principal, namespace)
    done = consolidated(principal, namespace, now=now + months)
    later = now + months + datetime.timedelta(days=1)
    after = [answered(principal, namespace, item, turns, later) for item in asked]
    stands, both = standing(principal, namespace), [("before", before), ("after", after)]
    return {
        "questions": len(asked),
        **{f"recall@{DEPTH} {when}": round(statistics.fmean(ten for ten, _ in shares), 4) for when, shares in both},
        **{
            f"recall in {CONTEXT} tokens {when}": round(statistics.fmean(told for _, told in shares), 4)
            for when, shares in both
        },
        "tokens before": stood["tokens"],
        "tokens after": stands["tokens"],
        "fewer": round(1 - stands["tokens"] / stood["tokens"], 3),
        "active": stands["active"],
        "digests": stands["digests"],
        **done,
    }


def main(given: Sequence[str] | None = None) -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--days", type=int, default=MONTHS.days, help="how old the conversations are when consolidated")
    parser.add_argument("--json", action="store_true", help="also print the figures as JSON, last")
    options = parser.parse_args(given)
    print(machine())
    principal = access.system_principal(keys.ensure_project(f"bench-{uuid.uuid4().hex[:8]}"))
    figures = {}
    for path in options.files:
        figures[path.name] = measure(principal, path, datetime.timedelta(days=options.days))
        print(path.name, ", ".join(f"{name} {value}" for name, value in figures[path.name].items()))
    if options.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
