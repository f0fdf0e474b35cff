"""Refresh of what joins memories: what changed is linked, put into the graph and its episode; clusters follow."""

import datetime
import uuid
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

import structlog
from django.db import IntegrityError, OperationalError, connection

from memories import access
from memories.access import Principal
from memories.models import Connected, EmbeddingModel, Fragment, Namespace, PendingConnection
from memories.providers import active_model
from memories.upkeep.graph import links
from memories.upkeep.graph.cluster_rows import cluster
from memories.upkeep.graph.episode_list import gather
from memories.upkeep.graph.locks import lock_connections, lock_fragments
from memories.upkeep.graph.projection import project

log = structlog.get_logger(__name__)
BATCH = 500  # markers; most fragments have two
# A namespace of more fragments waits for its clusters.
AT_ONCE = 100_000
SELDOM = datetime.timedelta(hours=1)


def refresh_graph(principal: Principal, *, now: datetime.datetime) -> int:
    """Connect all that has changed in the project, batch by batch, then works out clusters; how many fragments.

    One worker at a time; another one, and one that is in somebody's way, leaves the rest for the next time.
    """
    done = 0
    try:
        with access.enter(principal, why="connect"):
            _follow_model(principal)
        while connected := _connect_some(principal):
            done += connected
        _cluster_all(principal, now=now)
    except (OperationalError, IntegrityError) as error:
        log.warning("connections_put_off", project=principal.project, error=type(error).__name__)
    return done


def _follow_model(principal: Principal) -> None:
    """Links are made anew under another active model."""
    model = active_model()
    for behind in Connected.objects.within(principal.project_id).exclude(model=model).select_for_update():
        mark_stale(principal.project_id, behind.namespace_id)
        behind.model = model
        behind.save(update_fields=["model"])


def mark_stale(project_id: uuid.UUID, namespace_id: uuid.UUID) -> None:
    """Mark all fragments of a namespace to be connected anew."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO memories_pendingconnection (project_id, namespace_id, fragment_id)
               SELECT project_id, namespace_id, id FROM memories_fragment
               WHERE project_id = %s AND namespace_id = %s""",
            [project_id, namespace_id],
        )


def _connect_some(principal: Principal) -> int:
    with access.enter(principal, why="connect"):
        if not lock_connections(principal.project_id):
            return 0
        rows = PendingConnection.objects.within(principal.project_id).select_related("namespace")
        taken = list(rows.order_by("id")[:BATCH])
        PendingConnection.objects.within(principal.project_id).filter(id__in=[row.id for row in taken]).delete()
        by_place = sorted(taken, key=attrgetter("namespace_id"))
        for _, group in groupby(by_place, key=attrgetter("namespace_id")):
            marked = list(group)
            connect(marked[0].namespace, {row.fragment_id for row in marked}, model=active_model())
        return len({row.fragment_id for row in taken})


def connect(namespace: Namespace, ids: Iterable[uuid.UUID], *, model: EmbeddingModel) -> None:
    """Links, graph and episodes of these fragments as they are now; those that are gone leave what they joined."""
    wanted = sorted(ids)
    change = links.plan(namespace, wanted, model=model)
    fragments = lock_fragments(namespace.project_id, wanted)
    project(fragments)
    gather(namespace.project_id, {(fragment.namespace_id, fragment.conversation_id) for fragment in fragments})
    links.write(namespace, change)
    Connected.objects.update_or_create(
        project_id=namespace.project_id,
        namespace=namespace,
        defaults={"model": model, "links_moved": True, "changed": True, "unexamined": True},
    )


def _cluster_all(principal: Principal, *, now: datetime.datetime) -> None:
    """Where links have moved. A namespace with many is left for an hour after each time."""
    with access.enter(principal, why="cluster"):
        rows = Connected.objects.within(principal.project_id).filter(links_moved=True).select_related("namespace")
        moved = list(rows.order_by("namespace_id"))
    for row in moved:
        with access.enter(principal, why="cluster"):
            fresh = row.clustered_at and now - row.clustered_at < SELDOM
            if not (fresh and _is_large(row.namespace)) and lock_connections(principal.project_id):
                cluster(row.namespace, now=now)


def _is_large(namespace: Namespace) -> bool:
    rows = Fragment.objects.within(namespace.project_id).filter(namespace=namespace)
    return rows.order_by()[: AT_ONCE + 1].count() > AT_ONCE
