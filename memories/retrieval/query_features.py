"""Features of a question: whom it names, what it quotes, which time it means, what it is about. Pure."""

import datetime
import re
from dataclasses import dataclass, field

from memories.language import Routing, route
from memories.retrieval.query_reduction import asks_for_summary, reduce_query
from memories.retrieval.times import Period, period_of

WORD = re.compile(r"[^\W_]+")
QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{3,200})[\"”»]")
MOST_PHRASES = 10  # each is looked for in each candidate
FIRST_PERSON = frozenset({"i", "my", "me", "mine", "myself", "we", "our", "ours", "us"})


@dataclass(frozen=True, slots=True)
class Cues:
    """What in a question may tell the right memory from others that are as alike. `period` is half-open, in UTC.

    `reduced` is the question without its frame, `impersonal` that without the `persons` that it names; empty where it
    names none, or nothing else.
    """

    words: frozenset[str] = frozenset()
    phrases: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    period: Period | None = None
    persons: frozenset[str] = frozenset()
    reduced: str = ""
    impersonal: str = ""
    # Whether whoever asks asks about himself, and not for what both sides said.
    first_person: bool = False


def extract_cues(question: str, *, now: datetime.datetime) -> Cues:
    """Return the cues of a question that is asked `now`; relative times count from there, in its time zone."""
    routing = route(question)
    reduced = reduce_query(question)
    persons, impersonal = _without_persons(reduced, routing)
    words = frozenset(WORD.findall(question.lower()))
    return Cues(
        words=words,
        phrases=list(dict.fromkeys(phrase.lower() for phrase in QUOTED.findall(question)))[:MOST_PHRASES],
        keys=routing.query_keys,
        types=list(routing.search_types),
        period=period_of(question, now=now),
        persons=persons,
        reduced=reduced,
        impersonal=impersonal,
        first_person=bool(words & FIRST_PERSON) and not asks_for_summary(question),
    )


def _without_persons(question: str, routing: Routing) -> tuple[frozenset[str], str]:
    names = {entity.text for entity in routing.entities if entity.label == "person"}
    if not names:
        return frozenset(), ""
    longest_first = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    left, named = re.subn(rf"(?<!\w)(?:{longest_first})(?:['’]s)?(?!\w)", "", question)
    left = " ".join(left.split())
    persons = frozenset(part for name in names for part in (name.lower(), *WORD.findall(name.lower())))
    return persons, left if named and WORD.search(left) else ""
