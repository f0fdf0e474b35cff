"""From what was said to what is kept: route, weigh, embed; then, in one transaction, place and admit."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from conflicts.authority import SOURCE_RANK, bounded_importance, granted_authority, lowered_source
from conflicts.namespace_state import NamespaceState, states_of
from conflicts.public import Admission, Newcomer
from conflicts.search_index import BlockedByErasure, find_forgotten_fragments
from memories import access
from memories.access import NotFound, Principal
from memories.extraction import NOTHING, Reading, read_text
from memories.ingest.drafts import Draft
from memories.ingest.embedding_queue import queue_reading
from memories.ingest.external_keys import enter
from memories.ingest.updates import require_may_keep, sentences_claimed, with_instruction, with_procedure
from memories.language import Routing, route_kept
from memories.models import EmbeddingModel, Fragment, Namespace
from memories.models.enums import FragmentType, SourceClass, SourceType
from memories.models.scoring import Rates
from memories.providers import active_model, embed

MANY = 16  # drafts


class EmptyAfterTrimming(Exception):
    """Nothing but white space."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Drafts with everything that is worked out before a transaction begins."""

    drafts: list[Draft]
    routings: list[Routing]
    vectors: list[Any]
    readings: list[Reading | None]
    model: EmbeddingModel

    def only(self, *places: int) -> "Prepared":
        """Return these of the drafts with what belongs to them."""
        return Prepared(
            drafts=[self.drafts[place] for place in places],
            routings=[self.routings[place] for place in places],
            vectors=[self.vectors[place] for place in places],
            readings=[self.readings[place] for place in places],
            model=self.model,
        )


def prepare(drafts: Sequence[Draft], *, embed_now: bool = True, model: EmbeddingModel | None = None) -> Prepared:
    """Route and embed, by default under the active model.

    A failing embedder leaves vectors None: the fragments are stored and embedded later.
    """
    model = model or active_model()
    texts = [draft.content for draft in drafts]
    # Many are routed beside the embedder, which works outside of Python most of the time.
    with ThreadPoolExecutor(1) if embed_now and len(texts) >= MANY else nullcontext() as beside:
        routed = beside.submit(route_kept, texts) if beside else None
        vectors = embed(texts, model=model) if embed_now else [None] * len(texts)
        routings = routed.result() if routed else route_kept(texts)
    return Prepared(
        drafts=list(drafts),
        routings=routings,
        vectors=vectors,
        readings=[_read(draft) if draft.extract_claim else None for draft in drafts],
        model=model,
    )


def _read(draft: Draft, *, claim: bool = True) -> Reading:
    return read_text(draft.content, draft.extra, speaker=draft.speaker, read_before=draft.read_before, claim=claim)


def said_beside(draft: Draft) -> list[str]:
    """Return what comes with a draft's content and may have been forgotten."""
    return [*draft.parts, *sentences_claimed(draft.claims)]


def store(principal: Principal, prepared: Prepared, *, now: datetime.datetime) -> list[Admission]:
    """Store what was prepared, in order, all or nothing.

    Raise NotFound for a namespace or parent outside the grant, CeilingExceeded, BlockedByErasure.
    """
    with access.enter(principal, why="store"):
        return [_stored(index, one) for index, one in enumerate(store_each(principal, prepared, now=now))]


def _stored(index: int, admission: Admission | None) -> Admission:
    if admission is None:
        raise BlockedByErasure(index=index)
    return admission


def store_each(principal: Principal, prepared: Prepared, *, now: datetime.datetime) -> list[Admission | None]:
    """As `keep`, but what was forgotten stops no other: None stands in its place."""
    principal.require("write")
    with access.enter(principal, why="store"):
        named = _states(principal, prepared.drafts)
        states = {state.namespace.id: state for state in named.values()}
        parents = _parents(principal, prepared.drafts)
        rates = next((state.rates for state in states.values()), Rates())
        fragments = [
            _fragment(principal, draft, routing, named[draft.namespace].namespace, parents, now, rates=rates)
            for draft, routing in zip(prepared.drafts, prepared.routings, strict=True)
        ]
        has_erasures = any(state.has_erasures for state in states.values())
        said = [said_beside(draft) for draft in prepared.drafts]
        forgotten = set(find_forgotten_fragments(fragments, said) if has_erasures else ())
        readings = _readings(prepared, fragments, states)
        newcomers = [
            Newcomer(fragment, vector, draft.claims or reading.claims_for(fragment), reading.statements_of(fragment))
            for fragment, vector, draft, reading in zip(
                fragments, prepared.vectors, prepared.drafts, readings, strict=True
            )
        ]
        kept = [n for n in range(len(newcomers)) if n not in forgotten]
        entered = enter(principal, [newcomers[n] for n in kept], model=prepared.model, now=now, states=states)
        admissions = dict(zip(kept, entered, strict=True))
        queue_reading([one for n, one in admissions.items() if prepared.drafts[n].extract_claim])
        return [admissions.get(n) for n in range(len(newcomers))]


def build_fragment(
    principal: Principal, prepared: Prepared, namespace: Namespace, *, rates: Rates, now: datetime.datetime
) -> Fragment:
    """Return the one that was prepared, as a row that is not stored yet. Raise CeilingExceeded."""
    return _fragment(principal, prepared.drafts[0], prepared.routings[0], namespace, {}, now, rates=rates)


def _states(principal: Principal, drafts: Sequence[Draft]) -> dict[str, NamespaceState]:
    """Return by name where drafts are to stand, made where it is missing.

    Raise NotFound when one is not covered.
    """
    names = sorted({draft.namespace for draft in drafts})
    access.require_reach(principal, names, reading=False)
    scopes = {name: principal.scope(name) for name in names}
    found = states_of(principal.project_id, scopes.values())
    return {name: found[scope] for name, scope in scopes.items()}


def _readings(
    prepared: Prepared, fragments: Sequence[Fragment], states: Mapping[uuid.UUID, NamespaceState]
) -> list[Reading]:
    """Return what each text states; read only where something stands that it could contradict."""
    watched = {namespace_id for namespace_id, state in states.items() if state.is_claimed}
    for draft, reading, fragment in zip(prepared.drafts, prepared.readings, fragments, strict=True):
        if draft.claims or (reading and reading.claims):
            watched.add(fragment.namespace_id)
    return [
        reading or (_read(draft, claim=False) if fragment.namespace_id in watched else NOTHING)
        for reading, draft, fragment in zip(prepared.readings, prepared.drafts, fragments, strict=True)
    ]


class ParentMissing(NotFound):
    """A memory that one is said to come from does not exist, or not for whoever says so."""

    def __init__(self, parent_id: uuid.UUID) -> None:
        super().__init__(f"parent {parent_id}")
        self.parent_id = parent_id

    @property
    def fields(self) -> list[dict[str, str]]:
        """Return the parents as the field at fault."""
        return [{"field": "provenance.parents", "message": f"There is no memory {self.parent_id} here."}]


def _parents(principal: Principal, drafts: Sequence[Draft]) -> dict[uuid.UUID, Fragment]:
    """Return the parents that drafts name. Raise ParentMissing for one that the writer may not read."""
    wanted = {parent for draft in drafts for parent in draft.parents}
    if not wanted:
        return {}
    rows = Fragment.objects.within(principal.project_id).filter(id__in=wanted).select_related("namespace")
    found = {row.id: row for row in rows if principal.covers_reading(row.namespace.name)}
    if missing := wanted - set(found):
        raise ParentMissing(min(missing))
    return found


def _fragment(
    principal: Principal,
    draft: Draft,
    routing: Routing,
    namespace: Namespace,
    parents: dict[uuid.UUID, Fragment],
    now: datetime.datetime,
    *,
    rates: Rates,
) -> Fragment:
    ancestors = [parents[parent] for parent in draft.parents]
    entities = draft.entities if draft.entities is not None else [asdict(entity) for entity in routing.entities]
    valence = draft.emotional_valence if draft.emotional_valence is not None else routing.valence
    agent = draft.agent_id or namespace.agent
    kind = draft.type or default_type(draft.source_type, routing)
    if draft.is_pinned or draft.is_anchor:
        require_may_keep(principal)
    provenance = _provenance(principal, draft, ancestors)
    extra = with_procedure(kind, draft.content, draft.extra)
    made = Fragment.made(
        project_id=principal.project_id,
        namespace_id=namespace.id,
        agent_id=agent,
        type=kind,
        content=draft.content,
        category=draft.category,
        source_type=draft.source_type,
        source_id=draft.source_id,
        source_ids=[draft.source_id] if draft.source_id else [],
        key=draft.key,
        workflow_id=draft.workflow_id,
        conversation_id=draft.conversation_id,
        sequence=draft.sequence,
        tags=list(dict.fromkeys([*draft.tags, agent])),
        entities=entities,
        topics=draft.topics if draft.topics is not None else routing.topics,
        outcome=draft.outcome,
        importance=_importance(principal, draft, rates, entities=len(entities), valence=valence),
        emotional_valence=valence,
        is_pinned=draft.is_pinned,
        is_anchor=draft.is_anchor,
        created_at=now,
        updated_at=now,
        event_at=draft.event_at,
        extra=with_instruction(draft.content, extra, source=provenance["source"]),
        **provenance,
    )
    made.namespace = namespace
    return made


def _importance(principal: Principal, draft: Draft, rates: Rates, *, entities: int, valence: float) -> float:
    """Return what it was given, else what it has by itself; a weak writer's protects nothing."""
    own = rates.initial_importance(entities=entities, valence=valence, source_type=draft.source_type)
    given = own if draft.importance is None else draft.importance
    return bounded_importance(given, rank=SOURCE_RANK[_ceiling(principal, draft)])


def _is_attested(principal: Principal, draft: Draft) -> bool:
    return draft.attested and principal.may_attest_user


def _ceiling(principal: Principal, draft: Draft) -> SourceClass:
    return SourceClass.USER_EXPLICIT if _is_attested(principal, draft) else SourceClass(principal.ceiling)


def source_of(principal: Principal, draft: Draft) -> str:
    """Return the source that a draft has by this principal. A user's attested words need no ceiling of the key's."""
    source_class = SourceClass.USER_EXPLICIT if _is_attested(principal, draft) else draft.source
    return source_class or lowered_source(source=draft.default_source, ceiling=_ceiling(principal, draft))


def _provenance(principal: Principal, draft: Draft, ancestors: Sequence[Fragment]) -> dict[str, Any]:
    """Return who says it and how far that is believed."""
    ceiling, source = _ceiling(principal, draft), source_of(principal, draft)
    return {
        "source": source,
        "provenance_source_id": draft.provenance_source_id,
        "authority": granted_authority(source=source, ceiling=ceiling, parents=[a.authority for a in ancestors]),
        "grant_id": principal.grant_id,
        "owner_id": principal.owner_id,
        "parents": draft.parents,
        "roots": sorted({root for ancestor in ancestors for root in ancestor.roots or [ancestor.id]}),
    }


def default_type(source_type: str, routing: Routing) -> str:
    """Procedures are procedural, what was said is episodic, everything else semantic (docs/spec.md §3)."""
    if routing.type == "procedural":
        return FragmentType.PROCEDURAL
    return FragmentType.EPISODIC if source_type == SourceType.CONVERSATION else FragmentType.SEMANTIC
