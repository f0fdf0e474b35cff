"""Rebuild of what joins memories: each of it from the canonical rows, batch by batch or for a namespace as a whole."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db.models import Exists, Model, OuterRef, QuerySet
from django.utils import timezone

from memories import access
from memories.access import Principal
from memories.models import Entity, Episode, Fragment, Mention, Namespace, Operation
from memories.operations import Progress
from memories.providers import active_model
from memories.upkeep.graph import links
from memories.upkeep.graph.cluster_rows import cluster
from memories.upkeep.graph.episode_list import gather
from memories.upkeep.graph.locks import lock_connections, lock_fragments
from memories.upkeep.graph.projection import project


def relink(batch: Sequence[Fragment], _: None) -> None:
    """Let these fragments choose their nearest anew, and takes away what nobody chose."""
    lock_connections(batch[0].project_id, patient=True)
    namespaces = {row.id: row for row in Namespace.objects.filter(id__in={row.namespace_id for row in batch})}
    for namespace_id, group in groupby(sorted(batch, key=attrgetter("namespace_id")), key=attrgetter("namespace_id")):
        ids = [fragment.id for fragment in group]
        change = links.plan(namespaces[namespace_id], ids, model=active_model())
        links.write(namespaces[namespace_id], change)
        links.sweep(namespaces[namespace_id], ids)


def rebuild_graph(batch: Sequence[Fragment], _: None) -> None:
    """Write what these fragments mention and claim into the graph anew."""
    lock_connections(batch[0].project_id, patient=True)
    project(lock_fragments(batch[0].project_id, [fragment.id for fragment in batch]))


def rebuild_episodes(batch: Sequence[Fragment], _: None) -> None:
    """Make the episodes of these fragments' conversations anew."""
    lock_connections(batch[0].project_id, patient=True)
    gather(batch[0].project_id, {(fragment.namespace_id, fragment.conversation_id) for fragment in batch})


def drop_unmentioned(operation: Operation) -> None:
    """Take entities away that no fragment mentions."""
    mentioned = Mention.objects.filter(project_id=OuterRef("project_id"), entity=OuterRef("id"))
    _of(operation, Entity).exclude(Exists(mentioned)).delete()


def drop_unspoken(operation: Operation) -> None:
    """Take episodes away whose conversation has no fragment."""
    mentions = Fragment.objects.filter(
        project_id=OuterRef("project_id"),
        namespace=OuterRef("namespace"),
        conversation_id=OuterRef("conversation_id"),
    )
    _of(operation, Episode).exclude(conversation_id="").exclude(Exists(mentions)).delete()


def rebuild_clusters(principal: Principal, operation: Operation, progress: Progress) -> int:
    """Work the clusters out anew, namespace by namespace; how many namespaces' fragments those were."""
    with access.enter(principal, why="rebuild"):
        rows = Namespace.objects.within(principal.project_id).order_by("id")
        places = [operation.namespace] if operation.namespace else list(rows)
        fragments = Fragment.objects.within(principal.project_id).filter(namespace__in=places)
        total = fragments.count()
    done = 0
    for place in places:
        with access.enter(principal, why="rebuild"):
            lock_connections(principal.project_id, patient=True)
            cluster(place, now=timezone.now())
            done += fragments.filter(namespace=place).count()
            progress.save(stage=operation.options["target"], done=done, total=total)
        progress.check()
    return done


def _of(operation: Operation, model: type[Model]) -> QuerySet[Any]:
    """Return the rows that the operation is about."""
    rows = model._default_manager.filter(project_id=operation.project_id)
    return rows.filter(namespace=operation.namespace) if operation.namespace else rows
