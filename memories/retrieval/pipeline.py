"""From a question to the memories that answer it."""

import datetime
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from memories import access, tallies
from memories.access import Principal
from memories.models import EmbeddingModel, Fragment, Namespace
from memories.models.namespace import SHARED
from memories.providers import active_model, embed
from memories.retrieval.candidates import cosines, keyword_hits, nearest
from memories.retrieval.questions import Hit, Question, Reach, Results
from memories.retrieval.ranking import PROFILES, fuse, score, signals
from memories.retrieval.rivals import FOREIGN, outdone

CROSS_AGENT_THRESHOLD = 0.8  # [1] P16: another agent's memory has to be fresh
POOL = 100  # candidates of each kind, at least


def search(principal: Principal, question: Question, *, now: datetime.datetime) -> Results:
    """The best memories for a question, best first; they count as read. Raises NotFound outside the grant."""
    results = find(principal, question, now=now)
    tallies.note_reads(principal.project_id, results.ids, at=now)
    return results


def find(principal: Principal, question: Question, *, now: datetime.datetime) -> Results:
    """As `search`, without counting the hits as read."""
    principal.require("read")
    took: dict[str, float] = {}
    with _timed(took, "embed"):
        model = active_model()
        (vector,) = embed([question.query], model=model)
    with access.enter(principal, why="search"):
        own, others = _namespaces(principal, question)
        if not own + others or question.top_k == 0:
            hits: list[Hit] = []
        else:
            with _timed(took, "candidates"):
                reach = Reach(question.session_id, question.as_of or (None if question.filters.include_all else now))
                relevance, cosine = _candidates(question, reach, [own, others], vector, model)
            with _timed(took, "rank"):
                rows = Fragment.objects.within(principal.project_id)
                light = rows.for_ranking().in_bulk(list(relevance))
                ranked = _ranked(question, light, relevance, cosine, own, others, now)
            with _timed(took, "load"):
                full = rows.for_answers().in_bulk([hit.fragment.id for hit in ranked])
                # What was forgotten or changed its status since it was found is no answer any more.
                current = [hit for hit in ranked if _stands(question, full.get(hit.fragment.id))]
                hits = [replace(hit, fragment=full[hit.fragment.id]) for hit in current]
    took["total"] = round(sum(took.values()), 3)
    return Results(hits, took, degraded=[] if vector is not None else ["embedder"])


@contextmanager
def _timed(took: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    took[stage] = round((time.perf_counter() - start) * 1000, 3)


def _namespaces(principal: Principal, question: Question) -> tuple[list[Namespace], list[Namespace]]:
    """The asked namespaces with the shared one, and the other agents' that a project-wide question adds."""
    shared = f"{principal.project}:{SHARED}"
    own = access.readable(principal, [*question.namespaces, shared])
    if not question.project_wide:
        return own, []
    mine = {namespace.id for namespace in own}
    return own, [namespace for namespace in access.all_readable(principal) if namespace.id not in mine]


def _stands(question: Question, row: Fragment | None) -> bool:
    return row is not None and row.status in question.filters.statuses


def _candidates(
    question: Question, reach: Reach, pools: list[list[Namespace]], vector: Any, model: EmbeddingModel
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Relevance and cosine by fragment id. Each pool is drawn apart: others' memories can't crowd out one's own."""
    filters, most = question.filters, max(POOL, 3 * question.top_k)
    bm25: dict[Any, float] = {}
    dense: dict[Any, float] = {}
    for namespaces in filter(None, pools):
        words = keyword_hits(namespaces, query=question.query, filters=filters, reach=reach, most=most)
        bm25 |= words
        if vector is not None:
            near = nearest(namespaces, vector=vector, model=model, filters=filters, reach=reach, most=most)
            missing = [fragment_id for fragment_id in words if fragment_id not in near]
            dense |= near | cosines(namespaces, vector=vector, model=model, filters=filters, reach=reach, ids=missing)
    return fuse(cosine=dense, bm25=bm25), dense


def _ranked(
    question: Question,
    rows: dict[Any, Fragment],
    relevance: dict[Any, float],
    cosine: dict[Any, float],
    own: list[Namespace],
    others: list[Namespace],
    now: datetime.datetime,
) -> list[Hit]:
    """The hits that pass every condition, best first, ties by id."""
    weights = question.weights or PROFILES[question.profile]
    foreign = {namespace.id: FOREIGN + n for n, namespace in enumerate(others)}
    passing = {
        fragment_id: row
        for fragment_id, row in rows.items()
        if _passes(question, row, cosine.get(fragment_id), row.namespace_id in foreign, now)
    }
    if not question.filters.include_all:
        places = foreign | {namespace.id: n for n, namespace in enumerate(_as_asked(question, own))}
        for fragment_id in outdone(passing, project_id=(own + others)[0].project_id, places=places):
            del passing[fragment_id]
    hits = []
    for fragment_id, row in passing.items():
        found = signals(row, relevance=relevance[fragment_id], similarity=cosine.get(fragment_id), now=now)
        hits.append(Hit(row, score(found, weights), found))
    hits.sort(key=lambda hit: (-hit.score, hit.fragment.id))
    return hits[: question.top_k]


def _as_asked(question: Question, own: list[Namespace]) -> list[Namespace]:
    """In the order of the question; the shared namespace last."""
    order = {name: n for n, name in enumerate(question.namespaces)}
    return sorted(own, key=lambda namespace: order.get(namespace.name, len(order)))


def _passes(question: Question, row: Fragment, similarity: float | None, foreign: bool, now: datetime.datetime) -> bool:
    floor = max(question.filters.min_relevance, CROSS_AGENT_THRESHOLD if foreign else 0.0)
    if question.min_similarity > 0 and (similarity or 0.0) < question.min_similarity:
        return False
    return not floor or row.relevance_at(now) >= floor
