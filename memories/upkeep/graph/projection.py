"""The graph as a projection: what each fragment mentions, and what each of its claims says as an edge.

A function of the fragment's entities and its claim alone, so that a rebuild gives the same graph. Rows
stand for fragments of every status; which of them an answer may show follows by trigger, as in the search tables.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from conflicts.keys import canonical_key
from memories.models import NAME_LIMIT, Claim, Fragment, Relation
from memories.models.enums import EntityLabel

CERTAIN = 1.0  # what a claim names it is about


@dataclass(frozen=True, slots=True)
class ClaimEdge:
    """One mention: the name in canonical form, as it is written, what it is and how sure that is."""

    spelling: str
    text: str
    label: str
    confidence: float


def node_of(project_id: uuid.UUID, name: str) -> uuid.UUID:
    """Return the node of a name in any spelling, the same in every namespace of the project."""
    return uuid.uuid5(project_id, spelled(name))


def spelled(name: str) -> str:
    """Return a name in canonical form; what has no letters or digits stands for itself."""
    return canonical_key(name) or name.strip().casefold()


def mentions_of(fragment: Fragment, claims: Sequence[Claim]) -> list[ClaimEdge]:
    """Return what a fragment mentions, each thing once: the entities in its text, then what it claims something of."""
    found: dict[str, ClaimEdge] = {}
    for mention in (*_entities(fragment), *_claimed(claims)):
        found.setdefault(mention.spelling, mention)
    return list(found.values())


def _entities(fragment: Fragment) -> Iterator[ClaimEdge]:
    for entity in fragment.entities:
        label = entity["label"] if entity["label"] in EntityLabel.values else EntityLabel.MISC
        yield ClaimEdge(spelled(entity["text"]), entity["text"][:NAME_LIMIT], label, entity["confidence"])


def _claimed(claims: Sequence[Claim]) -> Iterator[ClaimEdge]:
    for name in (name for claim in claims for name in (claim.subject, claim.value)):
        yield ClaimEdge(spelled(name), name[:NAME_LIMIT], EntityLabel.MISC, CERTAIN)


def project(fragments: Sequence[Fragment]) -> None:
    """Write mentions and relations of these fragments anew; they are of one project, and held by the caller."""
    if not fragments:
        return
    project_id, ids = fragments[0].project_id, [fragment.id for fragment in fragments]
    claims = Claim.objects.by_fragment(project_id, ids)
    projections = [(f, claims.get(f.id, []), mentions_of(f, claims.get(f.id, []))) for f in fragments]
    _write_entities(
        project_id, [(f.namespace_id, mention.spelling) for f, _, found in projections for mention in found]
    )
    _write_mentions(project_id, projections)
    _write_relations(project_id, [(f, claim) for f, claims, _ in projections for claim in claims])
    _take_away(project_id, projections)


def _write_entities(project_id: uuid.UUID, names: list[tuple[uuid.UUID, str]]) -> None:
    rows = sorted(
        {(_entity(place, spelling), place, uuid.uuid5(project_id, spelling), spelling) for place, spelling in names}
    )
    _run(
        """INSERT INTO memories_entity AS e (id, project_id, namespace_id, node, spelling)
           SELECT t.id, %(project)s, t.place, t.node, left(t.spelling, %(most)s)
           FROM unnest(%(ids)s::uuid[], %(places)s::uuid[], %(nodes)s::uuid[], %(spellings)s::text[])
               AS t (id, place, node, spelling)
           ON CONFLICT (id) DO UPDATE SET node = excluded.node, spelling = excluded.spelling
               WHERE (e.node, e.spelling) IS DISTINCT FROM (excluded.node, excluded.spelling)""",
        project=project_id,
        most=NAME_LIMIT,
        **dict(zip(("ids", "places", "nodes", "spellings"), _columns(rows, 4), strict=True)),
    )


def _entity(namespace_id: uuid.UUID, spelling: str) -> uuid.UUID:
    return uuid.uuid5(namespace_id, spelling)


# What search asks of a row, from its fragment and claims.
REACH = "namespace_id, status, session_id, valid_from, valid_until"
REACHED = "f.namespace_id, {status}, c.session_id, c.valid_from, c.valid_until"
SOURCES = """
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.fragment
    CROSS JOIN LATERAL nova_reach(%(project)s, t.fragment) AS c"""
RENEWED = ", ".join(f"{column} = excluded.{column}" for column in REACH.split(", "))


def _write_mentions(
    project_id: uuid.UUID, projections: Sequence[tuple[Fragment, Sequence[Claim], list[ClaimEdge]]]
) -> None:
    rows = [
        (f.id, _entity(f.namespace_id, mention.spelling), mention.text, mention.label, mention.confidence)
        for f, _, found in projections
        for mention in found
    ]
    _run(
        f"""INSERT INTO memories_mention (project_id, fragment_id, entity_id, text, label, confidence, {REACH})
            SELECT %(project)s, t.fragment, t.entity, t.text, t.label, t.confidence, {REACHED.format(status="f.status")}
            FROM unnest(%(fragments)s::uuid[], %(entities)s::uuid[], %(texts)s::text[], %(labels)s::text[],
                %(confidences)s::float8[]) AS t (fragment, entity, text, label, confidence) {SOURCES}
            ON CONFLICT (project_id, entity_id, fragment_id) DO UPDATE SET text = excluded.text, label = excluded.label,
                confidence = excluded.confidence, {RENEWED}""",
        project=project_id,
        **dict(zip(("fragments", "entities", "texts", "labels", "confidences"), _columns(rows, 5), strict=True)),
    )


def _write_relations(project_id: uuid.UUID, claimed: Sequence[tuple[Fragment, Claim]]) -> None:
    rows = [
        (
            *(c.id, f.id, _entity(f.namespace_id, spelled(c.subject)), c.predicate),
            _entity(f.namespace_id, spelled(c.value)),
        )
        for f, c in claimed
    ]
    _run(
        f"""INSERT INTO memories_relation (project_id, claim_id, fragment_id, subject_id, predicate, object_id,
                {REACH})
            SELECT %(project)s, t.claim, t.fragment, t.subject, t.predicate, t.object,
                {REACHED.format(status="c.status")}
            FROM unnest(%(claims)s::uuid[], %(fragments)s::uuid[], %(subjects)s::uuid[], %(predicates)s::text[],
                %(objects)s::uuid[]) AS t (claim, fragment, subject, predicate, object)
            JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.fragment
            JOIN memories_claim c ON c.project_id = %(project)s AND c.id = t.claim
            ON CONFLICT (project_id, claim_id) DO UPDATE SET subject_id = excluded.subject_id,
                predicate = excluded.predicate, object_id = excluded.object_id, {RENEWED}""",
        project=project_id,
        **dict(zip(("claims", "fragments", "subjects", "predicates", "objects"), _columns(rows, 5), strict=True)),
    )


def _take_away(project_id: uuid.UUID, projections: Sequence[tuple[Fragment, Sequence[Claim], list[ClaimEdge]]]) -> None:
    """What these fragments mentioned and claimed before and do not any more."""
    edges = Relation.objects.within(project_id).filter(fragment__in=[f.id for f, _, _ in projections])
    edges.exclude(claim_id__in=[claim.id for _, claims, _ in projections for claim in claims]).delete()
    kept = [(f.id, _entity(f.namespace_id, mention.spelling)) for f, _, found in projections for mention in found]
    _run(
        """DELETE FROM memories_mention m
           WHERE m.project_id = %(project)s AND m.fragment_id = ANY (%(fragments)s) AND NOT EXISTS (
               SELECT FROM unnest(%(kept)s::uuid[], %(entities)s::uuid[]) AS k (fragment, entity)
               WHERE k.fragment = m.fragment_id AND k.entity = m.entity_id)""",
        project=project_id,
        fragments=[f.id for f, _, _ in projections],
        **dict(zip(("kept", "entities"), _columns(kept, 2), strict=True)),
    )


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]


def _run(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
