"""The nine tools of the reference memory server, mapped on claims.

An entity is a subject, a relation a claim whose predicate is its type; a type and observations are claims too. So what
other writers claim is part of the graph, and what the graph is told passes the gate like every claim.
"""

import uuid
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import compress
from operator import or_
from typing import Annotated, Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from pydantic import Field
from rest_framework.exceptions import ValidationError

from conflicts.history import BeliefQuery, Believed, believed_claims, claims
from conflicts.keys import canonical_key
from conflicts.public import Admission, ClaimDraft
from memories import access, ingest
from memories.access import NotPermitted
from memories.mcp.callers import Caller
from memories.mcp.descriptions import Additions, Deletions, EntityWords, Most, Place, RelationWords, Source
from memories.models import Claim
from memories.models.enums import Status
from memories.rest.fields import validated
from memories.rest.graph_projection import OBSERVATION, TYPE, draw, sentence
from memories.rest.inputs import FragmentInput, draft_of
from memories.retrieval import Question as Search
from memories.retrieval import search

MOST = 2000  # claims in one drawing
HITS = 20
Entities = Annotated[list[EntityWords], Field(description="Things, each with its type and what is said of it.")]
Relations = Annotated[list[RelationWords], Field(description="Who or what relates to whom, and how.")]
Added = Annotated[list[Additions], Field(description="What is to be said of which entity.")]
Deleted = Annotated[list[Deletions], Field(description="What is no longer to be said of which entity.")]
Query = Annotated[str, Field(description="A question or what to look for, in plain words.")]
Names = Annotated[list[str], Field(max_length=100, description="The entities' names; any spelling.")]


def create_entities(
    caller: Caller, entities: Entities, namespace: Place = None, source: Source = None
) -> dict[str, Any]:
    """Creates entities with their observations; those that exist already are left as they are."""
    place = caller.place(namespace)
    known = _known(caller, place, [entity.name for entity in entities])
    new: dict[str, EntityWords] = {}
    for entity in entities:
        if (key := canonical_key(entity.name)) not in known:
            new.setdefault(key, entity)
    triples = [
        claim
        for entity in new.values()
        for claim in [
            (entity.name, TYPE, entity.entityType),
            *((entity.name, OBSERVATION, observation) for observation in entity.observations),
        ]
    ]
    kept = _store_claims(caller, place, triples, source)
    rest, created = iter(_stand_anew(caller, kept)), []
    for entity in new.values():
        typed = next(rest)
        observations = [observation for observation in entity.observations if next(rest)]
        if typed or observations:
            created.append({**entity.model_dump(), "observations": observations})
    return {"entities": created, **_waiting(kept)}


def create_relations(
    caller: Caller, relations: Relations, namespace: Place = None, source: Source = None
) -> dict[str, Any]:
    """Creates relations between entities; those that exist already are left as they are."""
    triples = [(relation.source, relation.relationType, relation.to) for relation in relations]
    kept = _store_claims(caller, caller.place(namespace), triples, source)
    new = compress(relations, _stand_anew(caller, kept))
    return {"relations": [relation.model_dump(by_alias=True) for relation in new], **_waiting(kept)}


def add_observations(
    caller: Caller, observations: Added, namespace: Place = None, source: Source = None
) -> dict[str, Any]:
    """Adds observations to entities that exist; answers those that are new."""
    place = caller.place(namespace)
    known = _known(caller, place, [addition.entityName for addition in observations])
    if missing := [one.entityName for one in observations if canonical_key(one.entityName) not in known]:
        raise ValidationError({"entityName": [f"There is no entity named {', '.join(missing)}."]})
    triples = [
        (addition.entityName, OBSERVATION, observation)
        for addition in observations
        for observation in addition.contents
    ]
    kept = _store_claims(caller, place, triples, source)
    rest = iter(_stand_anew(caller, kept))
    results = [
        {
            "entityName": addition.entityName,
            "addedObservations": [observation for observation in addition.contents if next(rest)],
        }
        for addition in observations
    ]
    return {"results": results, **_waiting(kept)}


def delete_entities(
    caller: Caller,
    entityNames: Names,
    namespace: Place = None,
) -> dict[str, Any]:
    """Archives everything that is claimed of entities, and the relations to them; a person can bring it back."""
    place, names = caller.place(namespace), set(map(canonical_key, entityNames))
    found = _claims(caller, place, subjects=entityNames) + _claims(caller, place, values=entityNames)
    about = [one for one in found if canonical_key(one.subject) in names or not _is_said(one)]
    return _archive(caller, about)


def delete_observations(caller: Caller, deletions: Deleted, namespace: Place = None) -> dict[str, Any]:
    """Archives observations of entities."""
    unwanted = {
        (canonical_key(one.entityName), canonical_key(observation))
        for one in deletions
        for observation in one.observations
    }
    found = _claims(caller, caller.place(namespace), subjects=[one.entityName for one in deletions])
    observations = [one for one in found if one.predicate == OBSERVATION]
    keyed = [one for one in observations if (canonical_key(one.subject), canonical_key(one.value)) in unwanted]
    return _archive(caller, keyed)


def delete_relations(caller: Caller, relations: Relations, namespace: Place = None) -> dict[str, Any]:
    """Archives relations between entities."""
    unwanted = {tuple(map(canonical_key, (one.source, one.relationType, one.to))) for one in relations}
    found = _claims(caller, caller.place(namespace), subjects=[one.source for one in relations])
    return _archive(
        caller,
        [one for one in found if tuple(map(canonical_key, (one.subject, one.predicate, one.value))) in unwanted],
    )


def read_graph(caller: Caller, namespace: Place = None) -> dict[str, Any]:
    """All entities and relations of a namespace, from its newest claims; `truncated` says when there are more."""
    found = _claims(caller, caller.place(namespace), most=MOST + 1)
    return {**draw(found[:MOST]), "truncated": len(found) > MOST}


def search_nodes(caller: Caller, query: Query, namespace: Place = None, top_k: Most = None) -> dict[str, Any]:
    """The entities that a question is about, with their observations and relations."""
    place = caller.place(namespace)
    wanted = Search(query=query, namespaces=[place], project_wide=False, top_k=top_k or HITS)
    hits = search(caller.principal, wanted, now=timezone.now()).hits
    with access.enter(caller.principal, why="graph"):
        scopes = {scope.id for scope in access.requested_scopes(caller.principal, place)}
        here = [hit.fragment for hit in hits if hit.fragment.namespace_id in scopes]
        claims_by_fragment = Claim.objects.by_fragment(caller.principal.project_id, [fragment.id for fragment in here])
    return _open_entities(
        caller, place, [claim.subject for fragment in here for claim in claims_by_fragment.get(fragment.id, ())]
    )


def open_nodes(caller: Caller, names: Names, namespace: Place = None) -> dict[str, Any]:
    """Entities by their names, with their observations and the relations from and to them."""
    return _open_entities(caller, caller.place(namespace), names)


def _open_entities(caller: Caller, place: str, names: Sequence[str]) -> dict[str, Any]:
    if not names:
        return draw([])
    own = _claims(caller, place, subjects=names)
    towards = [one for one in _claims(caller, place, values=names) if not _is_said(one)]
    drawn = draw({one.id: one for one in [*own, *towards]}.values())
    keys = list(dict.fromkeys(map(canonical_key, names)))
    entities = {canonical_key(one["name"]): one for one in drawn["entities"]}
    return {**drawn, "entities": [entities[key] for key in keys if key in entities]}


def _is_said(claim: Believed) -> bool:
    """Whether the value is a text about the subject, not another entity."""
    return claim.predicate in (TYPE, OBSERVATION)


def _claims(
    caller: Caller, place: str, *, subjects: Sequence[str] | None = None, values: Sequence[str] = (), most: int = MOST
) -> list[Believed]:
    """What is believed now in a namespace: everything, of some subjects, or with some values; newest first."""
    questions = [BeliefQuery(namespace=place)]
    if subjects is not None:
        questions = [BeliefQuery(namespace=place, subject=subject) for subject in dict.fromkeys(subjects)]
    found: dict[uuid.UUID, Believed] = {}
    with access.enter(caller.principal, why="graph"):
        for question in questions:
            rows = claims(caller.principal, question, now=timezone.now())
            rows = rows.filter(_any_of(values)) if values else rows
            page = list(rows.order_by("-created_at", "-sequence", "-id")[:most])
            found |= {one.id: one for one in believed_claims(caller.principal, page) if _has_any(one, values)}
    return list(found.values())


def _any_of(values: Sequence[str]) -> Exists:
    matches = reduce(or_, (Q(value__iexact=value) for value in values))
    return Exists(Claim.objects.filter(matches, project=OuterRef("project"), fragment=OuterRef("id")))


def _has_any(one: Believed, values: Sequence[str]) -> bool:
    return not values or one.value.casefold() in {value.casefold() for value in values}


def _known(caller: Caller, place: str, names: Sequence[str]) -> set[str]:
    """Which of the names something is believed of."""
    return {canonical_key(one.subject) for one in _claims(caller, place, subjects=names, most=1)}


def _store_claims(
    caller: Caller, place: str, text: Iterable[tuple[str, str, str]], source: str | None
) -> list[Admission | None]:
    """Stores claims in one transaction; None for each whose words were forgotten."""
    provenance = {"provenance": {"source": source}} if source else {}
    drafts = []
    for sequence, (subject, predicate, value) in enumerate(text):
        content = sentence(subject, predicate, value)
        claim: dict[str, Any] = {"subject": subject, "predicate": predicate, "value": value}
        # What one entity may be is one thing; what it was observed to be or relates to may be many.
        claim |= {} if predicate == TYPE else {"exclusive": False}
        body = {"namespace": place, "content": content, "claim": claim, "sequence": sequence, **provenance}
        drafts.append(draft_of(validated(FragmentInput, body)))
    return ingest.store_each(caller.principal, ingest.prepare(drafts), now=timezone.now())


def _stand_anew(caller: Caller, kept: Sequence[Admission | None]) -> list[bool]:
    """Return of each whether it stands after all of them and says what was not said before."""
    stored = [admission for admission in kept if admission is not None]
    gone = {i for admission in stored for i in admission.superseded}
    with access.enter(caller.principal, why="graph"):
        rows = Claim.objects.by_fragment(
            caller.principal.project_id, {*gone, *(one.fragment.id for one in stored)} if gone else ()
        )
    says = {i: {(bytes(one.key_digest), bytes(one.value_digest)) for one in found} for i, found in rows.items()}

    def is_new(one: Admission) -> bool:
        own = says.get(one.fragment.id, set())
        stands = one.fragment.status == Status.ACTIVE and one.fragment.id not in gone
        return stands and not one.deduplicated and not any(own & says.get(i, set()) for i in one.superseded)

    return [one is not None and is_new(one) for one in kept]


def _waiting(kept: Sequence[Admission | None]) -> dict[str, Any]:
    """What did not come to stand because it contradicts something stronger, or was forgotten; nothing when all did."""
    stored = [admission for admission in kept if admission is not None]
    blocked = sum(admission is None for admission in kept)
    conflicts = [conflict.id for admission in stored for conflict in admission.pending_conflicts]
    text: dict[str, Any] = {"pending_conflicts": conflicts} if conflicts else {}
    return text | {"blocked_by_erasure": blocked} if blocked else text


def _unclaim(caller: Caller, one: Believed) -> None:
    """Archives a claim's memory; of one that claims more only this claim goes. Raises NotPermitted."""
    with access.enter(caller.principal, why="graph"):
        claims_by_fragment = Claim.objects.by_fragment(caller.principal.project_id, [one.fragment_id]).get(
            one.fragment_id, []
        )
    if len(claims_by_fragment) < 2:
        ingest.updates.archive(caller.principal, one.fragment_id, now=timezone.now())
        return
    kept = [ClaimDraft.of(claim) for claim in claims_by_fragment if claim.id != one.id]
    ingest.updates.revise(
        caller.principal, one.fragment_id, changes={"claims": kept}, revision=None, now=timezone.now()
    )


def _archive(caller: Caller, found: Iterable[Believed]) -> dict[str, Any]:
    """Archives what the caller may archive, each on its own; what is not theirs to archive stays."""
    archived, refused = 0, []
    for one in found:
        try:
            _unclaim(caller, one)
        except NotPermitted:
            refused.append(one.fragment_id)
        else:
            archived += 1
    text: dict[str, Any] = {"success": not refused, "message": f"{archived} claims archived"}
    return text | {"refused": refused} if refused else text
