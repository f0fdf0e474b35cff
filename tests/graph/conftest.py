"""Memories with vectors of the test's choosing, and what upkeep makes of them."""

import math
import uuid

import numpy as np
import pytest
from django.utils import timezone

from conflicts.search_index import embeddings, index_keywords
from memories import access, jobs, operations, upkeep
from memories.models import Fragment, Link
from memories.models.bulk import insert
from memories.providers import active_model


def at(degrees, plane=0):
    """A vector in a plane of its own: the cosine of two of a plane is that of the angle between them."""
    vector = np.zeros(384)
    vector[2 * plane], vector[2 * plane + 1] = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return vector


@pytest.fixture
def plant(principal):
    """Stores a memory for each vector."""

    def store(*vectors, name="main", by=principal, **more):
        now = timezone.now()
        with access.enter(by, why="test"):
            namespace = access.writable(by, f"{by.project}:{name}")
            rows = [
                Fragment(
                    **{
                        "id": uuid.uuid4(),
                        "project_id": by.project_id,
                        "namespace": namespace,
                        "agent_id": name,
                        "type": "semantic",
                        "content": f"heron {number}",
                        "source_type": "manual",
                        "importance": 0.5,
                        "source": "inference",
                        "authority": 1,
                        "created_at": now,
                        "updated_at": now,
                        **more,
                    }
                )
                for number in range(len(vectors))
            ]
            insert(rows)
            index_keywords([row.id for row in rows])
            insert(embeddings([(row, v, []) for row, v in zip(rows, vectors, strict=True)], model=active_model()))
        return rows

    return store


@pytest.fixture
def connect(principal, now):
    """Lets upkeep connect all that has changed."""

    def run(by=principal):
        return upkeep.graph.refresh_graph(by, now=now)

    return run


@pytest.fixture
def linked(principal):
    """{(one, other): similarity} of all similar links, one pair a direction."""

    def read(by=principal):
        with access.enter(by, why="test"):
            rows = Link.objects.within(by.project_id).filter(kind="similar")
            return {
                (one, other): alike for one, other, alike in rows.values_list("fragment_id", "other_id", "similarity")
            }

    return read


@pytest.fixture
def change(principal):
    """Changes rows as raw SQL would."""

    def update(rows, **values):
        with access.enter(principal, why="test"):
            Fragment.objects.filter(id__in=[row.id for row in rows]).update(**values)

    return update


@pytest.fixture
def rebuild(principal):
    """Rebuilds a target here and now; its report."""

    def run(target, by=principal):
        wish = {"kind": "rebuild", "namespace": None, "options": {"target": target}, "dry_run": False}
        operation = operations.start(by, **wish, now=timezone.now())
        ended = jobs.run(by, operation.id)
        assert ended.state == "succeeded", ended.error
        return ended.report

    return run
