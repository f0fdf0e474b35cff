"""What each word of a question did for the hits: how often they hold it, its part of their BM25, their rank by it."""

import math
import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memories.models.raw import fetch
from memories.retrieval.scopes import SearchScope

# As in `nova_keyword_hits`.
K1, B = 0.9, 0.4
HELD = """
    SELECT k.fragment_id, w.lexeme, cardinality(w.positions), k.length, a.documents, s.documents, s.mean_length
    FROM unnest(%(roots)s::uuid[], %(scopes)s::uuid[]) AS n (root, scope)
    CROSS JOIN LATERAL nova_asked(n.root, n.scope, %(query)s) AS a
    JOIN memories_keywords k ON k.project_id = %(project)s AND k.root_id = n.root
        AND (n.scope IS NULL OR k.namespace_id = n.scope) AND k.fragment_id = ANY (%(ids)s)
    CROSS JOIN LATERAL unnest(k.words) AS w
    LEFT JOIN memories_keywordstatistics s ON s.project_id = %(project)s AND s.namespace_id = coalesce(n.scope, n.root)
        AND s.all_users = (n.scope IS NULL)
    WHERE w.lexeme = a.lexeme
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
    scopes: Sequence[SearchScope], query: str, scores: Mapping[uuid.UUID, float]
) -> dict[uuid.UUID, list[Term]]:
    """By fragment, the terms that found it; `scores` are the BM25 of all that words found. Inside `access.enter`.

    Where nobody counts the words of a namespace, a term is as rare as it is among these.
    """
    if not scores:
        return {}
    asked = {"roots": [scope.root_id for scope in scopes], "scopes": [scope.scope_id for scope in scopes]}
    asked |= {"query": query, "project": scopes[0].project_id, "ids": list(scores)}
    rows = fetch(HELD, asked)
    among, mean = Counter(row[1] for row in rows), sum(row[3] for row in rows) / max(1, len(rows))
    weights: dict[tuple[uuid.UUID, str], tuple[int, float]] = {}
    for which, term, times, length, documents, total, average in rows:
        held = documents or among[term]
        rarity = math.log(1 + (max(total or len(scores), held) - held + 0.5) / (held + 0.5))
        worth = rarity * times * (1 + K1) / (times + K1 * (1 - B + B * length / (average or mean or 1)))
        weights[which, term] = (times, worth)
    return _ranked(weights, scores)


def _ranked(
    weights: Mapping[tuple[uuid.UUID, str], tuple[int, float]], scores: Mapping[uuid.UUID, float]
) -> dict[uuid.UUID, list[Term]]:
    whole: dict[uuid.UUID, float] = defaultdict(float)
    for (which, _), (_, worth) in weights.items():
        whole[which] += worth
    parts = {key: scores[key[0]] * worth / (whole[key[0]] or 1) for key, (_, worth) in weights.items()}
    ordered: dict[str, list[tuple[float, uuid.UUID]]] = defaultdict(list)
    for (which, term), part in parts.items():
        ordered[term].append((-part, which))
    found: dict[uuid.UUID, list[Term]] = defaultdict(list)
    for term, each in ordered.items():
        for rank, (part, which) in enumerate(sorted(each), start=1):
            found[which].append(Term(term, weights[which, term][0], -part, rank))
    return {which: sorted(terms, key=lambda one: (-one.part, one.term)) for which, terms in found.items()}
