"""Wordings: facts, texts that state another value of them, and texts that agree, add or speak of something else.

Read from every `_wordings*.json` beside this file: `{fact: {"claim": {subject, predicate, value}, "contradicting": [],
"agreeing": []}}`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from script.benches._worlds import Send

MOST_SERVED, MOST_LABELLED, MOST_BLOCKED = 1 / 20, 1 / 20, 1 / 100
WEAKER = ("agent", "document", "tool")


@dataclass(frozen=True, slots=True)
class Fact:
    """What the user said, and what others write about it."""

    file: str
    name: str
    claim: dict[str, str]
    contradicting: list[str]
    agreeing: list[str]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of a fact: which contradicting texts are served without a label, and which above what they contradict.

    `recorded` are those that name what is on record, and no more. Of the others which say that they contradict
    (`labelled`), which name what is on record (`noted`), and which wait.
    """

    fact: Fact
    served: list[str]
    above: list[str]
    recorded: list[str]
    labelled: list[str]
    noted: list[str]
    blocked: list[str]


def facts() -> Iterator[Fact]:
    """Return all facts of all files."""
    for path in sorted(Path(__file__).parent.glob("_wordings*.json")):
        for name, fact in json.loads(path.read_text()).items():
            yield Fact(path.stem, name, fact["claim"], fact["contradicting"], fact["agreeing"])


def play(send: Send, namespace: str, fact: Fact) -> Outcome:
    """Return the user claims the fact, then others, who are weaker, write each text; the user asks for the fact."""
    claim, source = fact.claim, {"source": "user_explicit"}
    text = f"On record: {claim['subject']} {claim['predicate']} {claim['value']}."
    truth = _store(send, "user", {"namespace": namespace, "content": text, "claim": claim, "provenance": source})["id"]
    written = {
        text: _store(send, WEAKER[n % len(WEAKER)], {"namespace": namespace, "content": text})
        for n, text in enumerate([*fact.contradicting, *fact.agreeing])
    }
    question = f"What is the {claim['predicate'].replace('_', ' ')} of the {claim['subject']}?"
    _, answer = send("reader", "POST", "/api/v1/search", {"namespace": namespace, "query": question, "top_k": 200})
    hits = {hit["id"]: hit | {"place": place} for place, hit in enumerate(answer["results"])}
    missing: dict[str, Any] = {"place": len(hits), "contradicts": None, "on_record": None}

    def stands(text: str) -> bool:
        return bool(written[text]["status"] == "active")

    def place(which: str) -> int:
        return int(hits.get(which, missing)["place"])

    def says(label: str, text: str) -> bool:
        return stands(text) and hits.get(written[text]["id"], missing)[label] is not None

    def labels(text: str) -> bool:
        return says("contradicts", text) or says("on_record", text)

    return Outcome(
        fact,
        served=[text for text in fact.contradicting if stands(text) and not labels(text)],
        above=[text for text in fact.contradicting if stands(text) and place(written[text]["id"]) < place(truth)],
        recorded=[text for text in fact.contradicting if says("on_record", text)],
        labelled=[text for text in fact.agreeing if says("contradicts", text)],
        noted=[text for text in fact.agreeing if says("on_record", text)],
        blocked=[text for text in fact.agreeing if not stands(text)],
    )


def _store(send: Send, who: str, body: dict[str, Any]) -> dict[str, Any]:
    status, answer = send(who, "POST", "/api/v1/fragments", body)
    if status not in (200, 201):
        raise RuntimeError(f"{who} could not write: {status} {answer}")
    return dict(answer)
