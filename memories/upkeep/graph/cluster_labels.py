"""Clusters as they are told: who is in them, what they are about, and what somebody called them."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from conflicts.authority import rank_of
from conflicts.search_index import refuse_forgotten_words
from memories import access
from memories.access import NotFound, Principal
from memories.models import Cluster, ClusterLabel, ClusterMember, Namespace
from memories.models.enums import Status

SHOWN, TOPICS = 100, 3


@dataclass(frozen=True, slots=True)
class LabelledCluster:
    """A cluster: its active members, the oldest first, at most a hundred of `size`; its commonest topics."""

    id: uuid.UUID
    namespace: str
    label: str | None
    topics: list[str]
    size: int
    members: list[uuid.UUID]
    created_at: datetime.datetime


def clusters(principal: Principal, namespaces: Sequence[Namespace], *, min_size: int) -> QuerySet[Any]:
    """Return the clusters of that many members, as they were when they were last worked out."""
    active = ClusterMember.objects.filter(
        project_id=OuterRef("project_id"), cluster=OuterRef("id"), fragment__status=Status.ACTIVE
    )
    rows = Cluster.objects.within(principal.project_id).filter(namespace__in=namespaces, size__gte=min_size)
    return rows.filter(Exists(active)).select_related("namespace")


def cluster_answers(rows: Sequence[Cluster], *, min_size: int) -> list[LabelledCluster]:
    """These clusters as they are now; those that have shrunk below the size are left out."""
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(TELL, {"project": rows[0].project_id, "ids": [row.id for row in rows], "shown": SHOWN})
        found = {row[0]: row[1:] for row in cursor}
        cursor.execute(COMMON, {"project": rows[0].project_id, "ids": [row.id for row in rows], "most": TOPICS})
        topics = dict(cursor.fetchall())
    labels = []
    for row in rows:
        size, members, label = found.get(row.id, (0, [], None))
        if size >= min_size:
            labels.append(
                LabelledCluster(
                    row.id, row.namespace.name, label, topics.get(row.id, []), size, members, row.created_at
                )
            )
    return labels


# The label that was given last counts, of those that the members carry.
TELL = """
    SELECT m.cluster_id, count(*), (array_agg(m.fragment_id ORDER BY f.created_at, f.id))[1:%(shown)s],
        (array_agg(l.label ORDER BY l.labelled_at DESC, l.label) FILTER (WHERE l.label IS NOT NULL))[1]
    FROM memories_clustermember m
    JOIN memories_fragment f ON f.project_id = m.project_id AND f.id = m.fragment_id AND f.status = 'active'
    LEFT JOIN memories_clusterlabel l ON l.project_id = m.project_id AND l.fragment_id = m.fragment_id
    WHERE m.project_id = %(project)s AND m.cluster_id = ANY (%(ids)s)
    GROUP BY m.cluster_id"""
COMMON = """
    SELECT cluster_id, array_agg(topic ORDER BY place) FROM (
        SELECT m.cluster_id, t.topic,
            row_number() OVER (PARTITION BY m.cluster_id ORDER BY count(*) DESC, t.topic) AS place
        FROM memories_clustermember m
        JOIN memories_fragment f ON f.project_id = m.project_id AND f.id = m.fragment_id AND f.status = 'active'
        CROSS JOIN LATERAL unnest(f.topics) AS t (topic)
        WHERE m.project_id = %(project)s AND m.cluster_id = ANY (%(ids)s)
        GROUP BY m.cluster_id, t.topic
    ) AS ranked WHERE place <= %(most)s GROUP BY cluster_id"""


def set_label(
    principal: Principal, cluster_id: uuid.UUID, text: str | None, *, now: datetime.datetime
) -> LabelledCluster:
    """Call a cluster something, or nothing. Raise NotFound, BlockedByErasure, NotPermitted where the key only reads."""
    with access.enter(principal, why="label"):
        found = clusters(principal, access.requested_scopes(principal, None), min_size=2).filter(id=cluster_id)
        rows: list[Cluster] = list(found)
        labels = cluster_answers(rows, min_size=1)
        if not labels:
            raise NotFound("cluster")
        (row,) = rows
        principal.require("write")
        principal.require_covered(row.namespace.name)
        rank = rank_of(principal)
        refuse_forgotten_words(principal.project_id, row.namespace_id, [text or ""], authority=rank)
        members_of = ClusterMember.objects.within(principal.project_id).filter(cluster=row)
        ClusterLabel.objects.within(principal.project_id).filter(fragment__in=members_of.values("fragment_id")).delete()
        kept = labels[0].members if text else []
        ClusterLabel.objects.bulk_create(
            [
                ClusterLabel(project_id=row.project_id, fragment_id=member, label=text or "", labelled_at=now)
                for member in kept
            ]
        )
        return cluster_answers(rows, min_size=1)[0]
