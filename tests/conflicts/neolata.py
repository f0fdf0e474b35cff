"""The rule of neolata-mem, an earlier design, in memory: what the attacks are replayed on.

As faithful as it can be to its JavaScript: the caller names its source, trust is the formula with every vote and
every corroboration counted, whoever has at least the trust wins, each opponent is judged alone, keys are compared as
strings, `exclusive` is the request's word, periods are closed at both ends. Where its text and its code differ,
the code is followed; `keep_both` activates the newcomer, as its test list says. Pure: no clock, no files; `now` is set
by whoever uses it.
"""

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count

SOURCE_WEIGHTS = {
    "user_explicit": 1.0,
    "system": 0.95,
    "tool_output": 0.85,
    "user_implicit": 0.7,
    "document": 0.6,
    "inference": 0.5,
}
SCOPES = ("global", "session", "temporal")
LONGEST_KEY, LONGEST_VALUE = 100, 1000
DISPUTED_BELOW = 0.3
SETTLED = frozenset({"superseded", "quarantined"})
EPOCH = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)
BEGINNING = datetime.datetime.min.replace(tzinfo=datetime.UTC)
END = datetime.datetime.max.replace(tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as the caller gives it. Raises ValueError when it is none."""

    subject: str
    predicate: str
    value: str
    exclusive: bool = True
    scope: str = "global"
    session_id: str = ""
    valid_from: datetime.datetime | None = None
    valid_until: datetime.datetime | None = None

    def __post_init__(self) -> None:
        if not 0 < len(self.subject) <= LONGEST_KEY or not 0 < len(self.predicate) <= LONGEST_KEY:
            raise ValueError("subject and predicate have 1 to 100 characters")
        if len(self.value) > LONGEST_VALUE:
            raise ValueError("value has at most 1000 characters")
        if self.scope not in SCOPES:
            raise ValueError("scope is global, session or temporal")
        if self.scope == "session" and not self.session_id:
            raise ValueError("a session claim needs its session")

    @property
    def key(self) -> str:
        """`subject::predicate`, as spelled."""
        return f"{self.subject}::{self.predicate}"


@dataclass(slots=True)
class Provenance:
    """Where a memory came from, by its writer's word."""

    source: str = "inference"
    source_id: str = ""
    corroboration: int = 1
    trust: float = 0.5


@dataclass(slots=True)
class Memory:
    """One memory."""

    id: str
    agent: str
    text: str
    created_at: datetime.datetime
    updated_at: datetime.datetime
    provenance: Provenance
    claim: Claim | None = None
    status: str = "active"
    confidence: float = 0.5
    importance: float = 0.7
    reinforcements: int = 0
    disputes: int = 0
    superseded_by: str = ""
    supersedes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Pending:
    """A conflict that waits for whoever resolves it."""

    id: str
    new_id: str
    existing_id: str
    new_claim: Claim
    existing_claim: Claim
    new_trust: float
    existing_trust: float
    resolution: str = ""


@dataclass(frozen=True, slots=True)
class Stored:
    """What `store` answers."""

    memory: Memory
    deduplicated: bool = False
    superseded: tuple[str, ...] = ()
    pending: tuple[Pending, ...] = ()


def compute_trust(
    source: str, *, corroboration: int = 1, reinforcements: int = 0, disputes: int = 0, age_days: float = 0.0
) -> float:
    """Its formula; an unknown source weighs .5."""
    votes = reinforcements + disputes
    bonus = min(0.2, (corroboration - 1) * 0.05)
    feedback = (reinforcements - disputes) / votes * 0.15 if votes else 0.0
    penalty = max(0.0, min(0.1, age_days / 365 * 0.1))
    return max(0.0, min(1.0, SOURCE_WEIGHTS.get(source, 0.5) + bonus + feedback - penalty))


def compute_confidence(memory: Memory) -> float:
    """Trust and nothing else."""
    return round(memory.provenance.trust, 4)


def validity_overlaps(one: Claim, other: Claim) -> bool:
    """Closed at both ends: periods that touch overlap."""
    return (one.valid_from or BEGINNING) <= (other.valid_until or END) and (other.valid_from or BEGINNING) <= (
        one.valid_until or END
    )


Extractor = Callable[[str], Claim | None]


class Neolata:
    """The memory of all agents. `extractor` stands for the language model that `extract_claim` asks."""

    def __init__(self, *, extractor: Extractor | None = None) -> None:
        self.extractor = extractor
        self.now = EPOCH
        self.memories: dict[str, Memory] = {}
        self.archive: dict[str, Memory] = {}
        self.index: dict[str, set[str]] = {}
        self.events: list[tuple[str, str, str]] = []
        self._pending: dict[str, Pending] = {}
        self._ids = (f"mem_{n}" for n in count(1))

    def store(
        self,
        agent: str,
        text: str,
        *,
        claim: Claim | None = None,
        source: str | None = None,
        source_id: str = "",
        extract_claim: bool = False,
    ) -> Stored:
        """Keeps a memory; a claim meets what stands under its key. Raises ValueError for a source nobody knows."""
        if source is not None and source not in SOURCE_WEIGHTS:
            raise ValueError(f"unknown source {source!r}")
        if claim is None and extract_claim and self.extractor:
            claim = self.extractor(text)
        twin = self.find_exact_duplicate(claim) if claim else None
        if twin is not None:
            self.corroborate(twin.id)
            return Stored(twin, deduplicated=True)
        provenance = Provenance(source or "inference", source_id)
        provenance.trust = compute_trust(provenance.source)
        memory = Memory(next(self._ids), agent, text, self.now, self.now, provenance, claim)
        memory.confidence = compute_confidence(memory)
        pending = self._gate(memory, self.structural_conflicts(claim) if claim else [])
        self._enter(memory)
        return Stored(memory, superseded=tuple(memory.supersedes), pending=tuple(pending))

    def _gate(self, memory: Memory, opponents: Iterable[Memory]) -> list[Pending]:
        """Each opponent alone: the newcomer replaces whom it can, whoever else there is."""
        pending = []
        new_trust = compute_trust(memory.provenance.source)
        for existing in opponents:
            if new_trust >= existing.provenance.trust:
                self._supersede(memory, existing)
                continue
            memory.status = "quarantined"
            assert memory.claim is not None
            assert existing.claim is not None
            conflict = Pending(
                id=f"con_{len(self._pending) + 1}",
                new_id=memory.id,
                existing_id=existing.id,
                new_claim=memory.claim,
                existing_claim=existing.claim,
                new_trust=new_trust,
                existing_trust=existing.provenance.trust,
            )
            self._pending[conflict.id] = conflict
            self.events.append(("conflict:pending", memory.id, existing.id))
            pending.append(conflict)
        return pending

    def _supersede(self, memory: Memory, existing: Memory) -> None:
        existing.status, existing.superseded_by = "superseded", memory.id
        memory.supersedes.append(existing.id)
        self.events.append(("supersede", memory.id, existing.id))

    def structural_conflicts(self, claim: Claim) -> list[Memory]:
        """Whom a claim contradicts."""
        if not claim.exclusive:
            return []
        found = []
        for other in self._under(claim.key):
            assert other.claim is not None
            if other.status in SETTLED or other.claim.value == claim.value or not other.claim.exclusive:
                continue
            if claim.scope == "session" and other.claim.scope == "global":
                continue
            if validity_overlaps(claim, other.claim):
                found.append(other)
        return found

    def find_exact_duplicate(self, claim: Claim) -> Memory | None:
        """An active memory with this key and value, spelled the same."""
        return next(
            (m for m in self._under(claim.key) if m.status == "active" and m.claim and m.claim.value == claim.value),
            None,
        )

    def dispute(self, memory_id: str) -> Memory | None:
        """One vote against, by whomever, as often as they like; below .3 it is disputed."""
        memory = self.memories.get(memory_id)
        if memory is None:
            return None
        memory.disputes += 1
        self._weigh(memory)
        if memory.provenance.trust < DISPUTED_BELOW and memory.status == "active":
            memory.status = "disputed"
        memory.updated_at = self.now
        self.events.append(("dispute", memory.id, ""))
        return memory

    def corroborate(self, memory_id: str) -> Memory | None:
        """One more source, by whomever, as often as they like."""
        memory = self.memories.get(memory_id)
        if memory is None:
            return None
        memory.provenance.corroboration += 1
        self._weigh(memory)
        memory.updated_at = self.now
        self.events.append(("corroborate", memory.id, ""))
        return memory

    def reinforce(self, memory_id: str, *, boost: float = 0.1) -> Memory | None:
        """One vote for."""
        memory = self.memories.get(memory_id)
        if memory is None:
            return None
        memory.importance = min(1.0, memory.importance + boost)
        memory.reinforcements += 1
        self._weigh(memory)
        return memory

    def _weigh(self, memory: Memory) -> None:
        memory.provenance.trust = compute_trust(
            memory.provenance.source,
            corroboration=memory.provenance.corroboration,
            reinforcements=memory.reinforcements,
            disputes=memory.disputes,
            age_days=(self.now - memory.created_at) / datetime.timedelta(days=1),
        )
        memory.confidence = compute_confidence(memory)

    def pending_conflicts(self) -> list[Pending]:
        """Those that nobody resolved."""
        return self.conflicts()

    def conflicts(
        self, *, subject: str | None = None, predicate: str | None = None, include_resolved: bool = False
    ) -> list[Pending]:
        """Conflicts about a subject or a predicate."""
        found = [c for c in self._pending.values() if include_resolved or not c.resolution]
        for name, wanted in (("subject", subject), ("predicate", predicate)):
            if wanted:
                found = [c for c in found if wanted in (getattr(c.new_claim, name), getattr(c.existing_claim, name))]
        return found

    def resolve_conflict(self, conflict_id: str, *, action: str) -> None:
        """supersede, reject or keep_both, by whomever. Raises LookupError, ValueError."""
        conflict = self._pending.get(conflict_id)
        if conflict is None:
            raise LookupError(f"Conflict not found: {conflict_id}")
        if conflict.resolution:
            raise ValueError("Conflict already resolved")
        newcomer, existing = self.memories.get(conflict.new_id), self.memories.get(conflict.existing_id)
        if newcomer and action in ("supersede", "keep_both"):
            newcomer.status = "active"
        if newcomer and existing and action == "supersede":
            self._supersede(newcomer, existing)
        if newcomer and action == "reject":
            self._leave(newcomer)
            self.archive[newcomer.id] = replace(newcomer, status="archived")
        conflict.resolution = action
        self.events.append(("conflict:resolved", conflict_id, action))

    def search(
        self,
        query: str = "",
        *,
        agent: str | None = None,
        session_id: str | None = None,
        include_all: bool = False,
        status_filter: Iterable[str] = ("active",),
    ) -> list[Memory]:
        """Memories with a word of the query (all without one); active ones unless asked otherwise.

        Session claims answer in their session only, and hide the lasting claims of their key there.
        """
        allowed, words = set(status_filter), query.lower().split()
        found = [
            m
            for m in self.memories.values()
            if (include_all or m.status in allowed)
            and (agent is None or m.agent == agent)
            and (not words or any(word in m.text.lower() for word in words))
        ]
        if not include_all:
            found = [m for m in found if not m.claim or m.claim.scope != "session" or m.claim.session_id == session_id]
        hidden = {m.claim.key for m in found if m.claim and m.claim.scope == "session"} if session_id else set()
        return [m for m in found if not m.claim or m.claim.scope == "session" or m.claim.key not in hidden]

    def rebuild_indexes(self) -> None:
        """Makes the index of claims anew."""
        self.index.clear()
        for memory in self.memories.values():
            self._note(memory)

    def _enter(self, memory: Memory) -> None:
        self.memories[memory.id] = memory
        self._note(memory)

    def _note(self, memory: Memory) -> None:
        if memory.claim:
            self.index.setdefault(memory.claim.key, set()).add(memory.id)

    def _leave(self, memory: Memory) -> None:
        del self.memories[memory.id]
        if memory.claim:
            self.index[memory.claim.key].discard(memory.id)

    def _under(self, key: str) -> list[Memory]:
        return [self.memories[i] for i in sorted(self.index.get(key, ()), key=lambda i: int(i[4:]))]
