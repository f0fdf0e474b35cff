"""What each word of a question did for the hits: how often they hold it, its part of their BM25, their rank by it."""

import datetime
import math
import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.models.sql import fetch
from memories.retrieval.candidate_search import READ
from memories.retrieval.questions import Question
from memories.retrieval.search_scopes import SearchScope

# As in `nova_keyword_hits`.
K1, B = 0.9, 0.4
HELD = f"""
    SELECT k.fragment_id, w.lexeme, cardinality(w.positions), k.length, l.held, r.documents_of_all, r.mean_length_of_all
    FROM {READ} AS r
    JOIN unnest(%s::uuid[], %s::uuid[]) WITH ORDINALITY AS n (root, scope, place) USING (place)
    CROSS JOIN LATERAL unnest(r.lexemes, r.held_of_all) AS l (lexeme, held)
    JOIN memories_keywords k ON k.project_id = %s AND k.root_id = n.root
        AND (n.scope IS NULL OR k.namespace_id = n.scope) AND k.fragment_id = ANY (%s)
    CROSS JOIN LATERAL unnest(k.words) AS w
    WHERE w.lexeme = l.lexeme
    ORDER BY k.fragment_id, w.lexeme
"""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question, stemmed, in one hit. The parts of all its terms add up to its BM25."""

    term: str
    times: int
    part: float
    rank: int

    def told(self) -> dict[str, Any]:
        """In JSON's terms."""
        return {"term": self.term, "times": self.times, "bm25": round(self.part, 4), "rank": self.rank}


def terms_of(
    scopes: Sequence[SearchScope], question: Question, scores: Mapping[uuid.UUID, float], *, now: datetime.datetime
) -> dict[uuid.UUID, list[Term]]:
    """Return by fragment the terms that found it, of all whose BM25 `scores` are. Inside `access.enter`."""
    if not scores:
        return {}
    reach = question.reach(now)
    places = [[scope.root_id for scope in scopes], [scope.scope_id for scope in scopes]]
    read = [*places, question.filters.statuses, reach.session_id, reach.at, question.query]
    ordered: dict[str, list[tuple[float, uuid.UUID, int]]] = defaultdict(list)
    for which, term, times, length, held, documents, mean in fetch(
        HELD, [*read, *places, scopes[0].project_id, list(scores)]
    ):
        rarity = math.log(1 + (max(documents, held) - held + 0.5) / (held + 0.5))
        ordered[term].append((rarity * times * (1 + K1) / (times + K1 * (1 - B + B * length / mean)), which, times))
    found: dict[uuid.UUID, list[Term]] = defaultdict(list)
    for term, each in ordered.items():
        for rank, (part, which, times) in enumerate(sorted(each, key=lambda one: (-one[0], one[1])), start=1):
            found[which].append(Term(term, times, part, rank))
    return {which: sorted(terms, key=lambda one: (-one.part, one.term)) for which, terms in found.items()}
