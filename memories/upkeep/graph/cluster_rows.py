"""Clusters: the communities of a namespace by its similar links, worked out as a whole."""

import datetime
from collections.abc import Iterator
from typing import Any

from django.db import connection

from memories.models import Connected, Namespace
from memories.upkeep.communities import SimilarPair, find_communities


def cluster(namespace: Namespace, *, now: datetime.datetime) -> int:
    """Make the clusters of a namespace what its similar links say; how many there are."""
    found = find_communities(_pairs(namespace))
    places = [(member, number) for number, group in enumerate(found) for member in group]
    params: dict[str, Any] = {
        "project": namespace.project_id,
        "namespace": namespace.id,
        "members": [member for member, _ in places],
        "groups": [number for _, number in places],
    }
    with connection.cursor() as cursor:
        cursor.execute(STAGE, params)
        for statement in (CLUSTERS, MEMBERS, LEFT, EMPTY):
            cursor.execute(statement, params)
        cursor.execute("DROP TABLE staged_member")
    Connected.objects.within(namespace.project_id).filter(namespace=namespace).update(
        links_moved=False, clustered_at=now
    )
    return len(found)


def _pairs(namespace: Namespace) -> Iterator[SimilarPair]:
    """Return who has chosen whom, and how alike they are, among the active fragments of a namespace."""
    params = [namespace.project_id, namespace.id]
    with connection.cursor() as cursor:
        cursor.execute(ACTIVE, params)
        active = {row[0] for row in cursor}
        cursor.execute(CHOSEN, params)
        yield from (SimilarPair(*row) for row in cursor if row[1] in active)


ACTIVE = "SELECT id FROM memories_fragment WHERE project_id = %s AND namespace_id = %s AND status = 'active'"
# Fragment by fragment through the index, whatever the planner believes of a table that nobody has analysed yet.
CHOSEN = """
    SELECT f.id, l.other_id, l.similarity FROM memories_fragment f CROSS JOIN LATERAL (
        SELECT other_id, similarity FROM memories_link
        WHERE project_id = f.project_id AND fragment_id = f.id AND kind = 'similar' AND chosen OFFSET 0
    ) AS l
    WHERE f.project_id = %s AND f.namespace_id = %s AND f.status = 'active'"""
# A cluster is named after its oldest member.
STAGE = """
    CREATE TEMP TABLE staged_member ON COMMIT DROP AS
    SELECT f.id AS fragment_id, f.created_at, first_value(f.id) OVER oldest AS cluster_id
    FROM unnest(%(members)s::uuid[], %(groups)s::int[]) AS t (fragment, number)
    JOIN memories_fragment f ON f.project_id = %(project)s AND f.id = t.fragment
    WINDOW oldest AS (PARTITION BY t.number ORDER BY f.created_at, f.id)"""
CLUSTERS = """
    INSERT INTO memories_cluster AS c (id, project_id, namespace_id, size, created_at)
    SELECT cluster_id, %(project)s, %(namespace)s, count(*), min(created_at) FROM staged_member
    GROUP BY cluster_id HAVING count(*) > 1
    ON CONFLICT (id) DO UPDATE SET size = excluded.size, created_at = excluded.created_at
        WHERE (c.size, c.created_at) IS DISTINCT FROM (excluded.size, excluded.created_at)"""
MEMBERS = """
    INSERT INTO memories_clustermember AS m (fragment_id, project_id, cluster_id)
    SELECT s.fragment_id, %(project)s, s.cluster_id FROM staged_member s
    JOIN memories_cluster c ON c.project_id = %(project)s AND c.id = s.cluster_id
    ON CONFLICT (fragment_id) DO UPDATE SET cluster_id = excluded.cluster_id
        WHERE m.cluster_id <> excluded.cluster_id"""
LEFT = """
    DELETE FROM memories_clustermember m USING memories_cluster c
    WHERE m.project_id = %(project)s AND c.project_id = %(project)s AND c.id = m.cluster_id
        AND c.namespace_id = %(namespace)s
        AND NOT EXISTS (SELECT FROM staged_member s WHERE s.fragment_id = m.fragment_id)"""
EMPTY = """
    DELETE FROM memories_cluster c WHERE c.project_id = %(project)s AND c.namespace_id = %(namespace)s
        AND NOT EXISTS (SELECT FROM staged_member s WHERE s.cluster_id = c.id)"""
