"""The trail of a search: how each candidate was found, what it was worth, and where it was dropped."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from memories.retrieval.query_features import Cues
from memories.retrieval.search_plan import SearchWay
from memories.retrieval.terms import Term

if TYPE_CHECKING:
    from memories.retrieval.candidates import Candidate
    from memories.retrieval.precedence import RankedSeat


Scores = Mapping[uuid.UUID, float]


class Stage(StrEnum):
    """Where a fragment's way through a search ends."""

    UNKNOWN = "unknown"
    NAMESPACE = "namespace"
    STATUS = "status"
    REACH = "reach"
    FILTERS = "filters"
    CANDIDATES = "candidates"
    SIMILARITY = "min_similarity"
    FRESHNESS = "relevance_score"
    FLOOR = "floor"
    SPOKEN = "spoken"
    RIVALS = "rivals"
    SHARE = "share"
    TOP_K = "top_k"
    GONE = "gone"
    ANSWERED = "answered"


REASONS = {
    Stage.UNKNOWN: "no such fragment is readable with this key",
    Stage.NAMESPACE: "its namespace is not among those that the question draws on",
    Stage.STATUS: "its status is not asked for",
    Stage.REACH: "its claim belongs to another session, or is not in force at the time that is asked for",
    Stage.FILTERS: "it does not pass these filters",
    Stage.CANDIDATES: "neither its words nor its vector are among the nearest to the question",
    Stage.SIMILARITY: "its cosine is below min_similarity",
    Stage.FRESHNESS: "its relevance_score has decayed below the floor",
    Stage.FLOOR: "it, another agent's, or else all that was found, has too little to do with the question",
    Stage.SPOKEN: "it stands in the prompt already",
    Stage.RIVALS: "a claim that excludes its own is shown instead",
    Stage.SHARE: "those of its owner, of other namespaces, or of its message hold their share of the places",
    Stage.TOP_K: "it stands beyond top_k: others score higher",
    Stage.GONE: "it was forgotten or changed while the search ran",
    Stage.ANSWERED: "it is an answer",
}


@dataclass(slots=True)
class Path:
    """One candidate's way: ranks count from 1; a rank is None where that kind of search did not find it."""

    words_rank: int | None = None
    meaning_rank: int | None = None
    cosine: float | None = None
    neighbour: bool = False
    claim: bool = False  # its key was asked for
    instruction: bool = False  # the user tells the assistant in it what to do from then on
    source: bool = False  # its source stands before others
    part: bool = False  # it answers a part of the question
    contradicts: uuid.UUID | None = None
    on_record: uuid.UUID | None = None
    rerank: float | None = None  # what the reranker said
    relevance: float = 0.0
    rank: int | None = None
    stage: Stage = Stage.CANDIDATES

    def is_near(self, most: int) -> bool:
        """Return whether it is among so many of the best by words or by meaning."""
        return any(rank is not None and rank <= most for rank in (self.words_rank, self.meaning_rank))

    def told(self, *, bm25: float | None = None) -> dict[str, Any]:
        """In JSON's terms."""
        found_by = {"words": self.words_rank, "meaning": self.meaning_rank, "neighbour": self.neighbour}
        found_by |= {"claim": self.claim, "instruction": self.instruction, "source": self.source, "part": self.part}
        numbers = {"bm25": bm25, "cosine": self.cosine, "rerank": self.rerank, "relevance": self.relevance}
        return {
            "stage": self.stage,
            "reason": REASONS[self.stage],
            "found_by": [kind for kind, found in found_by.items() if found],
            "words_rank": self.words_rank,
            "meaning_rank": self.meaning_rank,
            "rank": self.rank,
            "contradicts": str(self.contradicts) if self.contradicts else None,
            "on_record": str(self.on_record) if self.on_record else None,
            **{name: None if value is None else round(value, 4) for name, value in numbers.items()},
        }


@dataclass(slots=True)
class Trail:
    """What happened in one search.

    Unless somebody `asks` for it, only what the search itself goes by is written down: how each was found, not what
    became of it.
    """

    cues: Cues
    asks: bool
    paths: dict[uuid.UUID, Path] = field(default_factory=dict)
    # What the best had to reach, None without a floor; whether it did not.
    floor: float | None = None
    nothing_relevant: bool = False
    # BM25 by fragment id; that of more than are candidates by it, by id as text.
    bm25: dict[uuid.UUID, float] = field(default_factory=dict)
    further: Mapping[str, float] = field(default_factory=dict)
    # The questions that it is made of, as a language model tells them.
    parts: Sequence[str] = ()
    # The persons of whom the question's vector says nothing, as they speak themselves.
    speakers: Collection[str] = ()
    # By namespace name: how its vectors were searched.
    ways: dict[str, SearchWay] = field(default_factory=dict)
    # Which words found whom; worked out for who wants to know.
    terms: dict[uuid.UUID, list[Term]] = field(default_factory=dict)

    def by_words(self, scores: dict[uuid.UUID, float]) -> None:
        """Found by keywords, best first."""
        self.bm25 |= scores
        for rank, fragment_id in enumerate(scores, start=1):
            self._path(fragment_id).words_rank = rank

    def by_meaning(self, ids: Iterable[uuid.UUID]) -> None:
        """Found by vectors, best first."""
        for rank, fragment_id in enumerate(ids, start=1):
            self._path(fragment_id).meaning_rank = rank

    def by_neighbours(self, ids: Iterable[uuid.UUID]) -> None:
        """Came in because of what was said beside them."""
        for fragment_id in ids:
            self._path(fragment_id).neighbour = True

    def by_claims(self, ids: Iterable[uuid.UUID]) -> None:
        """Came in because the question, or a text that it found, speaks of what they claim."""
        for fragment_id in ids:
            self._path(fragment_id).claim = True

    def by_instruction(self, ids: Iterable[uuid.UUID]) -> None:
        """Came in because the user told the assistant what to do, and the question is near enough to it."""
        for fragment_id in ids:
            self._path(fragment_id).instruction = True

    def by_parts(self, ids: Iterable[uuid.UUID]) -> None:
        """Answer a part of the question."""
        for fragment_id in ids:
            self._path(fragment_id).part = True

    def by_source(self, scores: Mapping[uuid.UUID, float], cosines: Iterable[uuid.UUID]) -> None:
        """Came in because their source stands before others; BM25 of those found by words, and who else."""
        for fragment_id in {**scores, **dict.fromkeys(cosines)}:
            self._path(fragment_id).source = True
        self.bm25 = {**scores, **self.bm25}

    def _path(self, fragment_id: uuid.UUID) -> Path:
        path = self.paths.get(fragment_id)
        if path is None:
            path = self.paths[fragment_id] = Path()
            if self.further and (score := self.further.get(str(fragment_id))) is not None:
                self.bm25.setdefault(fragment_id, float(score))
        return path

    def weigh(self, candidates: Iterable["Candidate"], relevance: Scores, reranked: Scores) -> None:
        """How near each is, how relevant, and what the reranker said."""
        if not self.asks:
            return
        for one in candidates:
            path = self.paths[one.id]
            path.cosine, path.relevance, path.rerank = one.cosine, relevance[one.id], reranked.get(one.id)

    def stop_all(self, ids: Iterable[uuid.UUID], stage: Stage) -> None:
        """Their ways end there."""
        if not self.asks:
            return
        for fragment_id in ids:
            self.paths[fragment_id].stage = stage

    def seat(self, seats: Iterable["RankedSeat"], waiting: Collection[uuid.UUID], scores: Scores) -> None:
        """Who has a place in the end; the others stand behind in the order of their scores, some of them `waiting`."""
        if not self.asks:
            return
        against = {seat.candidate.id: seat for seat in seats}
        order = sorted(scores, key=lambda fragment_id: (-scores[fragment_id], fragment_id))
        for rank, fragment_id in enumerate([*against, *(i for i in order if i not in against)], start=1):
            path, left = self.paths[fragment_id], Stage.SHARE if fragment_id in waiting else Stage.TOP_K
            path.rank, path.stage = rank, Stage.ANSWERED if fragment_id in against else left
        for fragment_id, seat in against.items():
            path = self.paths[fragment_id]
            path.contradicts = seat.contradicts.fragment_id if seat.contradicts else None
            path.on_record = seat.on_record.fragment_id if seat.on_record else None

    def told(self) -> dict[str, Any]:
        """In JSON's terms, the best first."""
        period = self.cues.period
        order = sorted(self.paths.items(), key=lambda item: (item[1].rank or len(self.paths) + 1, item[0]))
        return {
            "query": self.cues.reduced,
            "query_keys": self.cues.keys,
            "search_types": self.cues.types,
            "phrases": self.cues.phrases,
            "parts": list(self.parts),
            "speakers": sorted(self.speakers),
            "period": [moment.isoformat() for moment in period] if period else None,
            "ways": dict(self.ways),
            "floor": self.floor,
            "candidates": [
                {
                    "id": str(i),
                    **path.told(bm25=self.bm25.get(i)),
                    "terms": [term.told() for term in self.terms.get(i, [])],
                }
                for i, path in order
            ],
        }
