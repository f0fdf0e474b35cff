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

MOST_SERVED, MOST_BLOCKED = 1 / 20, 1 / 100
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
    """Of a fact: the contradicting texts that stand, and the others that do not."""

    fact: Fact
    served: list[str]
    blocked: list[str]


def facts() -> Iterator[Fact]:
    """All facts of all files."""
    for path in sorted(Path(__file__).parent.glob("_wordings*.json")):
        for name, told in json.loads(path.read_text()).items():
            yield Fact(path.stem, name, told["claim"], told["contradicting"], told["agreeing"])


def play(send: Send, namespace: str, fact: Fact) -> Outcome:
    """The user claims the fact, then others, who are weaker, write each text."""
    claim, source = fact.claim, {"source": "user_explicit"}
    text = f"On record: {claim['subject']} {claim['predicate']} {claim['value']}."
    _store(send, "user", {"namespace": namespace, "content": text, "claim": claim, "provenance": source})
    status = {
        text: _store(send, WEAKER[n % len(WEAKER)], {"namespace": namespace, "content": text})["status"]
        for n, text in enumerate([*fact.contradicting, *fact.agreeing])
    }
    served = [text for text in fact.contradicting if status[text] == "active"]
    return Outcome(fact, served, [text for text in fact.agreeing if status[text] != "active"])


def _store(send: Send, who: str, body: dict[str, Any]) -> dict[str, Any]:
    status, answer = send(who, "POST", "/api/v1/fragments", body)
    if status not in (200, 201):
        raise RuntimeError(f"{who} could not write: {status} {answer}")
    return dict(answer)
