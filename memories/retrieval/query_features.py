"""Features of a question: whom it names, what it quotes, which time it means, what it is about. Pure."""

import datetime
import re
from dataclasses import dataclass, field

from memories.language import route
from memories.retrieval.times import Period, period_of

WORD = re.compile(r"[^\W_]+")
QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{3,200})[\"”»]")
MOST_PHRASES = 10  # each is looked for in each candidate


@dataclass(frozen=True, slots=True)
class Cues:
    """What in a question may tell the right memory from others that are as alike. `period` is half-open, in UTC."""

    words: frozenset[str] = frozenset()
    phrases: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    period: Period | None = None


def understand(question: str, *, now: datetime.datetime) -> Cues:
    """The cues of a question that is asked `now`; relative times count from there, in its time zone."""
    routing = route(question)
    return Cues(
        words=frozenset(WORD.findall(question.lower())),
        phrases=list(dict.fromkeys(phrase.lower() for phrase in QUOTED.findall(question)))[:MOST_PHRASES],
        keys=routing.query_keys,
        types=list(routing.search_types),
        period=period_of(question, now=now),
    )
