"""Queries of the graph: what is known of an entity, and what surrounds it, in the namespaces that the asker reads.

Only what a default answer may show counts, names and numbers included: active memories, claims that hold now, none of a
session's.
"""

import datetime
import uuid
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from memories.access import NotFound
from memories.models import Namespace
from memories.models.sql import fetch
from memories.upkeep.graph.projection import node_of, spelled

DEEPEST, MOST_NODES, MOST_EDGES = 3, 200, 500
LATEST = 20


@dataclass(frozen=True, slots=True)
class Node:
    """An entity: its most frequent spelling and kind, and how many memories mention it."""

    id: uuid.UUID
    name: str
    label: str
    mentions: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A claim: what its namespace believes of the source."""

    claim_id: uuid.UUID
    fragment_id: uuid.UUID
    source: uuid.UUID
    predicate: str
    target: uuid.UUID
    namespace: str
    valid_from: datetime.datetime | None
    valid_until: datetime.datetime | None


@dataclass(slots=True)
class Graph:
    """What surrounds an entity; `truncated` when there is more than an answer holds."""

    entity: uuid.UUID
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    # The latest memories that mention the entity.
    fragments: list[uuid.UUID] = field(default_factory=list)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class GraphGround:
    """Where is looked, and when."""

    namespaces: Sequence[Namespace]
    now: datetime.datetime

    def values(self, **more: Any) -> dict[str, Any]:
        """For a statement."""
        return {
            "project": self.namespaces[0].project_id,
            "places": [namespace.id for namespace in self.namespaces],
            "now": self.now,
            **more,
        }


def explore(ground: GraphGround, entity: str, *, depth: int) -> Graph:
    """The graph up to `depth` claims around an entity, named in any spelling or by its node's id. Raise NotFound."""
    if not ground.namespaces:
        raise NotFound("entity")
    graph = Graph(_node(ground, entity))
    seen, known = {graph.entity}, set()
    frontier = {graph.entity}
    for _ in range(depth):
        reached: set[uuid.UUID] = set()
        for edge in _edges(ground, frontier):
            if edge.claim_id in known:
                continue
            new = {edge.source, edge.target} - seen
            if len(graph.edges) == MOST_EDGES or len(seen) + len(new) > MOST_NODES:
                graph.truncated = True
                continue
            graph.edges.append(edge)
            known.add(edge.claim_id)
            seen |= new
            reached |= new
        frontier = reached
        if not frontier:
            break
    graph.nodes = _nodes(ground, seen)
    graph.fragments = _latest(ground, graph.entity)
    return graph


def _node(ground: GraphGround, entity: str) -> uuid.UUID:
    """Return the node of that id or name, if anything visible mentions it."""
    wanted = [node_of(ground.namespaces[0].project_id, entity)]
    with suppress(ValueError):
        wanted.insert(0, uuid.UUID(entity))
    found = {node.id for node in _nodes(ground, wanted)}
    for node in wanted:
        if node in found:
            return node
    raise NotFound("entity")


VISIBLE = """{0}.project_id = %(project)s AND {0}.namespace_id = ANY (%(places)s) AND {0}.status = 'active'
    AND {0}.session_id = '' AND ({0}.valid_from IS NULL OR {0}.valid_from <= %(now)s)
    AND ({0}.valid_until IS NULL OR {0}.valid_until > %(now)s)"""
EDGES = f"""
    WITH start AS MATERIALIZED (
        SELECT id FROM memories_entity
        WHERE project_id = %(project)s AND node = ANY (%(nodes)s) AND namespace_id = ANY (%(places)s)
    ), hit AS (
        SELECT claim_id FROM memories_relation
        WHERE project_id = %(project)s AND subject_id IN (SELECT id FROM start)
        UNION
        SELECT claim_id FROM memories_relation
        WHERE project_id = %(project)s AND object_id IN (SELECT id FROM start)
    )
    SELECT r.claim_id, r.fragment_id, s.node, r.predicate, o.node, n.name, r.valid_from, r.valid_until
    FROM hit
    JOIN memories_relation r ON r.project_id = %(project)s AND r.claim_id = hit.claim_id
    JOIN memories_entity s ON s.project_id = %(project)s AND s.id = r.subject_id
    JOIN memories_entity o ON o.project_id = %(project)s AND o.id = r.object_id
    JOIN memories_namespace n ON n.project_id = %(project)s AND n.id = r.namespace_id
    WHERE {VISIBLE.format("r")}
    ORDER BY r.fragment_id, r.claim_id LIMIT %(most)s"""
# How it is written most often, and what it mostly is where anything is known of that.
NODES = f"""
    SELECT e.node, mode() WITHIN GROUP (ORDER BY m.text),
        coalesce(mode() WITHIN GROUP (ORDER BY m.label) FILTER (WHERE m.label <> 'misc'), 'misc'), count(*)
    FROM memories_entity e
    JOIN memories_mention m ON m.project_id = %(project)s AND m.entity_id = e.id
    WHERE e.project_id = %(project)s AND e.namespace_id = ANY (%(places)s) AND {VISIBLE.format("m")}"""
LATEST_MENTIONS = f"""
    SELECT m.fragment_id FROM memories_entity e
    JOIN memories_mention m ON m.project_id = %(project)s AND m.entity_id = e.id
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = m.fragment_id
    WHERE e.project_id = %(project)s AND e.node = %(node)s AND {VISIBLE.format("m")}
    ORDER BY f.created_at DESC, f.id DESC LIMIT %(most)s"""


def _edges(ground: GraphGround, nodes: Collection[uuid.UUID]) -> list[Edge]:
    """Return one more than fit into an answer besides those that came before."""
    most = 2 * MOST_EDGES + 1
    return [Edge(*row) for row in fetch(EDGES, ground.values(nodes=list(nodes), most=most))]


def _nodes(ground: GraphGround, nodes: Iterable[uuid.UUID]) -> list[Node]:
    statement = f"{NODES} AND e.node = ANY (%(nodes)s) GROUP BY e.node ORDER BY e.node"
    return [Node(*row) for row in fetch(statement, ground.values(nodes=list(nodes)))]


def _latest(ground: GraphGround, node: uuid.UUID) -> list[uuid.UUID]:
    return [row[0] for row in fetch(LATEST_MENTIONS, ground.values(node=node, most=LATEST))]


def entities(ground: GraphGround, query: str, *, label: str | None, most: int) -> list[Node]:
    """Return up to `most` entities whose name holds the query in canonical form, those with the most mentions first."""
    if not ground.namespaces:
        return []
    statement = f"""SELECT * FROM ({NODES} AND strpos(e.spelling, %(query)s) > 0 GROUP BY e.node)
        AS found (node, name, label, mentions) WHERE %(label)s IS NULL OR label = %(label)s
        ORDER BY mentions DESC, node LIMIT %(most)s"""
    params = ground.values(query=spelled(query), label=label, most=most)
    return [Node(*row) for row in fetch(statement, params)]
