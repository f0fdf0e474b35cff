"""Lineage: a digest quotes what it was made of, so it is forgotten with any of that, and comes back no more."""

import uuid
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from memories.models.sql import fetch

# What a digest quotes, the originals of the digests among it too: those between may be gone.
LINEAGE = "{0}.parents || {0}.roots"
# Copies of one memory have one root: what is asked for may be known here, or have been forgotten, under another id.
# Where one of its line stands here, that one's fate is what counts.
FORGOTTEN = """
    WITH asked AS MATERIALIZED (
        SELECT w.id, coalesce(o.root_id, w.id) AS root, o.origin_id FROM unnest(%(ids)s::uuid[]) AS w (id)
        LEFT JOIN memories_origin o ON o.project_id = %(project)s AND o.fragment_id = w.id),
    line AS MATERIALIZED (
        SELECT a.id, a.root AS was FROM asked a
        UNION SELECT a.id, c.fragment_id FROM asked a JOIN memories_origin c ON c.project_id = %(project)s
            AND c.namespace_id = %(place)s AND c.root_id = a.root),
    standing AS MATERIALIZED (
        SELECT l.id FROM line l JOIN memories_fragment f ON f.project_id = %(project)s
            AND f.namespace_id = %(place)s AND f.id = l.was),
    former AS (
        SELECT id, id AS was FROM asked
        UNION SELECT id, was FROM line WHERE id NOT IN (SELECT id FROM standing)
        UNION SELECT id, origin_id FROM asked WHERE id NOT IN (SELECT id FROM standing))
    SELECT DISTINCT w.id FROM former w
    JOIN memories_erasure e ON e.project_id = %(project)s AND e.fragment_id = w.was"""
# In one look, or one that leaves or comes back meanwhile would be seen nowhere. A memory's other names count where it
# lives: what one branch forgets the others keep.
MADE_OF = f"""
    WITH home AS (
        SELECT f.id, f.namespace_id AS place FROM memories_fragment f
        WHERE f.project_id = %(project)s AND f.id = ANY (%(ids)s)
        UNION SELECT d.original_id, d.namespace_id FROM memories_tombstone d
        WHERE d.project_id = %(project)s AND d.original_id = ANY (%(ids)s)),
    root AS MATERIALIZED (
        SELECT h.place, coalesce(o.root_id, h.id) AS id FROM home h
        LEFT JOIN memories_origin o ON o.project_id = %(project)s AND o.fragment_id = h.id),
    named AS MATERIALIZED (
        SELECT n.place, array_agg(n.id) AS ids FROM (
            SELECT place, id FROM root
            UNION SELECT r.place, o.fragment_id FROM root r
            JOIN memories_origin o ON o.project_id = %(project)s AND o.root_id = r.id
        ) AS n GROUP BY n.place),
    made AS (
        SELECT f.id, f.namespace_id, f.parents, {LINEAGE.format("f")} AS lineage, true AS stands
        FROM memories_fragment f WHERE f.project_id = %(project)s AND f.source_type = 'digest'
        UNION ALL SELECT a.fragment_id, a.namespace_id, '{{}}'::uuid[], a.lineage, false
        FROM memories_archive a WHERE a.project_id = %(project)s AND a.lineage IS NOT NULL)
    SELECT m.id, m.parents, m.stands FROM made m
    WHERE m.lineage && %(ids)s::uuid[]
        OR EXISTS (SELECT FROM named n WHERE n.place = m.namespace_id AND n.ids && m.lineage)"""

LINEAGES = f"""
    SELECT f.id, {LINEAGE.format("f")} FROM memories_fragment f
    WHERE f.project_id = %(project)s AND f.namespace_id = %(place)s AND f.source_type = 'digest'"""


@dataclass(frozen=True, slots=True)
class Digest:
    """One that quotes a memory: what it was made of, while it stands; an evicted one left a copy."""

    id: uuid.UUID
    parents: Sequence[uuid.UUID]
    stands: bool


def digests_quoting(project_id: uuid.UUID, ids: Sequence[uuid.UUID]) -> list[Digest]:
    """Digests that quote one of these memories, evicted ones too."""
    found: dict[uuid.UUID, Digest] = {}
    for row in fetch(MADE_OF, {"project": project_id, "ids": list(ids)}):
        digest = Digest(*row)
        if digest.stands or digest.id not in found:
            found[digest.id] = digest
    return list(found.values())


def lineages_in(project_id: uuid.UUID, place: uuid.UUID) -> dict[uuid.UUID, list[uuid.UUID]]:
    """Return the digests of a namespace, whatever their status, with what they quote."""
    return dict(fetch(LINEAGES, {"project": project_id, "place": place}))


def quoting(
    project_id: uuid.UUID,
    place: uuid.UUID,
    lineages: Mapping[uuid.UUID, Sequence[uuid.UUID]],
    *,
    barred: Set[uuid.UUID] = frozenset(),
    coming: Set[uuid.UUID] = frozenset(),
) -> set[uuid.UUID]:
    """Return which digests that are to stand in a namespace, each with its lineage, quote a memory that was forgotten.

    Or one that is barred itself, or a digest that does. What is `coming` along and not barred was not forgotten.
    """
    gone = set(barred)
    if quoted := {i for lineage in lineages.values() for i in lineage} - coming:
        gone |= {i for (i,) in fetch(FORGOTTEN, {"project": project_id, "place": place, "ids": list(quoted)})}
    found: set[uuid.UUID] = set()
    while more := {i for i, lineage in lineages.items() if i not in found and not gone.isdisjoint(lineage)}:
        found |= more
        gone |= more
    return found
