"""What a caller asks of the memory, and what it gets back."""

import datetime
import re
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Q

from conflicts.free_text import ClaimsAtHand, Upheld
from memories.models import EmbeddingModel, Fragment
from memories.models.enums import SourceType, Status, Tier

if TYPE_CHECKING:
    from memories.retrieval.scope import Places

WORD = re.compile(r"\w+")
MOST_USED = 3  # hits that count as read


def limit_words(query: str, most: int) -> str:
    """Return a question up to its last word of so many: what it costs grows with its words."""
    ends = [word.end() for word in islice(WORD.finditer(query), most + 1)]
    return query[: ends[most - 1]] if len(ends) > most else query


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that every hit satisfies; lists mean "one of", and all conditions hold together."""

    type: list[str] = field(default_factory=list)
    agent: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    source_type: list[str] = field(default_factory=list)
    tier: list[str] = field(default_factory=list)
    outcome: list[str] = field(default_factory=list)
    conversation_id: str = ""
    workflow_id: str = ""
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None
    event_since: datetime.datetime | None = None
    event_until: datetime.datetime | None = None
    min_relevance: float = 0.0
    min_weight: float = 0.0
    status_filter: list[str] = field(default_factory=lambda: [Status.ACTIVE.value])
    include_all: bool = False
    # Any other condition on the fragment's row.
    rows: Q = field(default_factory=Q)

    @property
    def statuses(self) -> list[str]:
        """The statuses that may appear."""
        return list(Status.values) if self.include_all else self.status_filter or [Status.ACTIVE.value]

    @property
    def marks(self) -> list[list[str]]:
        """What a fragment has to carry one of each of, as the search tables word it (`nova_marks`)."""
        among = {
            "type": self.type,
            "agent": self.agent,
            "source_type": self.source_type,
            "tier": self.tier,
            "outcome": self.outcome,
            "tags": self.tags,
            "conversation_id": [self.conversation_id] if self.conversation_id else [],
            "workflow_id": [self.workflow_id] if self.workflow_id else [],
            # In tenths; which of the lowest tenth pass is asked of the fragment rows.
            "importance": [str(tenth) for tenth in range(min(9, int(self.min_weight * 10)), 10)]
            if self.min_weight
            else [],
        }
        return [[f"\x01{name} {value}" for value in values] for name, values in among.items() if values]

    @property
    def times(self) -> Q:
        """The periods that are asked for, which indexes of the fragment rows answer, and what only those rows know."""
        conditions = {
            "created_at__gte": self.since,
            "created_at__lt": self.until,
            "event_at__gte": self.event_since,
            "event_at__lt": self.event_until,
        }
        return self.rows & Q(**{name: value for name, value in conditions.items() if value})

    @property
    def ranges(self) -> Q:
        """What is asked beside marks: only the fragment rows know."""
        return self.times & Q(importance__gte=self.min_weight) if self.min_weight else self.times

    @property
    def wants_cold(self) -> bool:
        """Whether cold memories are asked for: vectors are searched without them otherwise."""
        return Tier.COLD in self.tier

    def conditions(self) -> Q:
        """Return what can be asked of the fragment row itself."""
        among = {"type": self.type, "agent_id": self.agent, "source_type": self.source_type, "tier": self.tier}
        among["outcome"] = self.outcome
        body: dict[str, Any] = {f"{name}__in": values for name, values in among.items() if values}
        body |= {"tags__overlap": self.tags} if self.tags else {}
        exact = {"conversation_id": self.conversation_id, "workflow_id": self.workflow_id}
        return Q(**body, **{name: value for name, value in exact.items() if value}) & self.ranges


@dataclass(frozen=True, slots=True)
class Reach:
    """Whose session asks, and for what time: claims of other sessions and those not in force then are no answers.

    `at` None asks for all times.
    """

    session_id: str = ""
    at: datetime.datetime | None = None

    def conditions(self) -> Q:
        """Return the same of a claim or of a search table's row."""
        condition = Q(session_id__in=["", self.session_id])
        if self.at is None:
            return condition
        begun = Q(valid_from=None) | Q(valid_from__lte=self.at)
        return condition & begun & (Q(valid_until=None) | Q(valid_until__gt=self.at))


@dataclass(frozen=True, slots=True)
class Spoken:
    """The turns that the caller's prompt holds already: their source ids, and their texts as `plain` has them."""

    source_ids: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self.source_ids or self.texts)

    def among(self, ids: Iterable[uuid.UUID], *, project_id: uuid.UUID) -> set[uuid.UUID]:
        """Return which of these fragments are such turns, or pieces of them."""
        if not self:
            return set()
        turns = Fragment.objects.within(project_id).filter(id__in=list(ids), source_type=SourceType.CONVERSATION)
        rows = turns.values_list("id", "source_id", "content")
        return {
            i for i, source, text in rows if source.partition("#")[0] in self.source_ids or plain(text) in self.texts
        }


def plain(text: str) -> str:
    """Return a text without differences in spacing and case."""
    return " ".join(text.split()).casefold()


@dataclass(frozen=True, slots=True)
class Question:
    """A search request."""

    query: str
    namespaces: list[str]
    # Whether other agents' memories answer too; None: as the operator set it, as far as the grant reaches.
    project_wide: bool | None = None
    # With the scopes of all users of the namespaces.
    all_users: bool = False
    filters: Filters = field(default_factory=Filters)
    # The sources whose memories stand before all others, each as far as it reaches the floor by itself.
    first: Sequence[str] = ()
    top_k: int = 10
    min_similarity: float = 0.0
    # What the best hit has to reach for anything to be answered; None: the model's own floor, 0: none.
    floor: float | None = None
    profile: str = "balanced"
    weights: dict[str, float] | None = None
    # Whether a reranker, where one is bound, may read what was found.
    rerank: bool = True
    session_id: str = ""
    as_of: datetime.datetime | None = None
    # What stands in the prompt already is not answered again.
    spoken: Spoken = field(default_factory=Spoken)
    # The name of the embedding model to search with; empty: the active one.
    model: str = ""
    explain: bool = False
    # The fragment of which the caller expected that it answers.
    expect: uuid.UUID | None = None

    def __post_init__(self) -> None:
        """Read the first words only, at every door."""
        object.__setattr__(self, "query", limit_words(self.query, settings.QUERY_WORDS))

    def reach(self, now: datetime.datetime) -> Reach:
        """Return whose session asks, and for what time."""
        return Reach(self.session_id, self.as_of or (None if self.filters.include_all else now))


@dataclass(frozen=True, slots=True)
class Hit:
    """A fragment that answers, its score and what the score is made of.

    `contradicts` is the stronger claim of which it states another value, `on_record` one of which it may; `reserved`: a
    claim that is asked for.
    """

    fragment: Fragment
    score: float
    signals: dict[str, float]
    contradicts: Upheld | None = None
    reserved: bool = False
    on_record: Upheld | None = None

    @property
    def labels(self) -> dict[str, dict[str, Any] | None]:
        """Return the claims that it is held against, in JSON's terms."""
        return {"contradicts": _told(self.contradicts), "on_record": _told(self.on_record)}


def _told(claim: Upheld | None) -> dict[str, Any] | None:
    if claim is None:
        return None
    triple = {"subject": claim.subject, "predicate": claim.predicate, "value": claim.value}
    return {"fragment_id": str(claim.fragment_id), **triple, "authority": claim.rank}


@dataclass(frozen=True, slots=True)
class Results:
    """The hits, best first, the milliseconds each stage took, and what was away (`embedder`, `reranker`)."""

    hits: list[Hit]
    took_ms: dict[str, float]
    degraded: list[str]
    # The model that embedded the question.
    model: EmbeddingModel
    # Which scopes it drew on.
    places: "Places"
    # What it was held against, where something is claimed.
    claims: ClaimsAtHand | None = None
    # What the question was read as and how candidates were looked for, when it wants to know.
    explanation: dict[str, Any] | None = None
    # Whether what was found has too little to do with the question to be answered.
    nothing_relevant: bool = False
    # What became of the fragment that was expected: {id, stage, reason, …}.
    expected: dict[str, Any] | None = None

    @property
    def ids(self) -> list[uuid.UUID]:
        """The fragments' ids."""
        return [hit.fragment.id for hit in self.hits]

    def used(self, handed_out: Collection[uuid.UUID] | None = None) -> list[uuid.UUID]:
        """Return the best of what was handed out, of all hits by default: what counts as read."""
        return [i for i in self.ids if handed_out is None or i in handed_out][:MOST_USED]
