"""Arenas: a project of its own per attack, with keys for the whole cast, empty or with a life of its own in it."""

import itertools
from collections.abc import Mapping
from typing import Any

from memories.access import keys
from memories.models import Project
from script.benches._worlds import CAST, FOREIGN, Send

FRAGMENTS, CLAIMS = 300, 50
THINGS = ["heron", "kettle", "key_state", "orchard", "piano", "quarry", "ribbon", "saddle", "teapot", "violin"]
PLACES = ["mill", "harbour", "attic", "station", "bakery", "museum"]
DEEDS = ["waits behind", "was seen near", "belongs to", "was moved from", "is painted like"]
NAMES = ["ann", "ben", "cleo", "dan", "eva", "finn", "gus", "hana", "ivo", "june"]
FACTS = (
    ("favorite_color", "green"),
    ("role", "gardener"),
    ("works_at", "Globex"),
    ("likes", "chess"),
    ("timezone", "UTC"),
)


def issue_cast(project: Project, foreign: Project) -> dict[str, str]:
    """Return the text of a key for everybody of the cast."""

    def issued(where: Project, owner: str, **options: Any) -> str:
        patterns = [f"{where.name}:*"]
        return keys.issue(
            where, keys.KeyRequest(namespaces=patterns, requests_per_minute=0, **options), owner=owner
        ).text

    texts = {who: issued(project, **part) for who, part in CAST.items()}
    return {**texts, "foreign": issued(foreign, **FOREIGN)}


def populate(send: Send, namespace: str, *, fragments: int = FRAGMENTS, claims: int = CLAIMS) -> None:
    """Other memories, and claims about other people and things: by the user and by a tool."""
    texts = [f"The {thing} {deed} the {place}." for thing, deed, place in itertools.product(THINGS, DEEDS, PLACES)]
    facts: list[Mapping[str, Any]] = [
        {"subject": name, "predicate": predicate, "value": value}
        for name, (predicate, value) in itertools.product(NAMES, FACTS)
    ]
    statements = [(f"{f['subject']}: {f['predicate'].replace('_', ' ')} {f['value']}", f) for f in facts[:claims]]
    rows = [{"namespace": namespace, "content": text} for text in texts[:fragments]]
    rows_with_claims = [
        {"namespace": namespace, "content": text, "claim": fact, "provenance": {"source": "tool_output"}}
        for text, fact in statements
    ]
    half = len(rows_with_claims) // 2
    for who, batch, embed in (
        ("tool", rows, "later"),
        ("tool", rows_with_claims[:half], "now"),
        ("user", rows_with_claims[half:], "now"),
    ):
        if batch:
            status, answer = send(who, "POST", "/api/v1/fragments/batch", {"fragments": batch, "embed": embed})
            if status != 201:
                raise RuntimeError(f"the namespace could not be populated: {status} {answer}")
