"""Vector indexes, one for each large scope, built and dropped in the background; never one across tenants.

A large namespace with users has one besides for all of them together. A partial HNSW index on its root's own
partition: other tenants' rows can change neither what it finds nor in which order (docs/decisions/0004).
"""

import uuid
from dataclasses import dataclass

import structlog
from django.db import DatabaseError, connection, connections

from memories import access
from memories.access import Principal
from memories.models import EmbeddingModel
from memories.retrieval.candidate_search import index_name
from memories.retrieval.search_plan import CROSSOVER, DROP_BELOW

log = structlog.get_logger(__name__)
OWNER = "owner"
# Building takes two to three times as long as with 64, and what is found misses a tenth as much (docs/decisions/0072).
M, EF_CONSTRUCTION = 16, 200
# A graph that does not fit into memory is built several times slower: bytes of an element beside its vector's, and what
# a build takes at the least and at the most (MB).
ELEMENT, LEAST, MOST = 800, 64, 1024


@dataclass(frozen=True, slots=True)
class Size:
    """A scope's vectors under a model: how many are not cold, in which partition; `whole`: with all users."""

    scope_id: uuid.UUID
    model_id: uuid.UUID
    partition: str
    vectors: int
    whole: bool


def maintain_indexes(principal: Principal) -> tuple[int, int]:
    """Build the indexes that the project's namespaces need by now and drop the others; (built, dropped).

    Nothing is locked meanwhile: searches go on by exact scan until an index is ready.
    """
    standing = _standing()
    with access.enter(principal, why="indexes"):
        sizes = _sizes(principal, [uuid.UUID(name.split("_")[1]) for name in standing])
    models = {model.id: model for model in EmbeddingModel.objects.all()}
    built = dropped = 0
    for size in sizes:
        name = index_name(size.scope_id, models[size.model_id], whole=size.whole)
        if size.vectors > CROSSOVER and not standing.get(name, False):
            built += _build(size, models[size.model_id], name)
        elif size.vectors < DROP_BELOW and name in standing:
            dropped += _drop(name)
    return built, dropped


def drop_strays() -> int:
    """Drop the indexes of namespaces that are gone, or hold nothing of their model any more; how many."""
    with connections[OWNER].cursor() as cursor:
        cursor.execute(
            """SELECT c.relname FROM pg_class c
               CROSS JOIN LATERAL (SELECT string_to_array(c.relname, '_') AS parts) AS n
               WHERE c.relname ~ '^(all)?vectors_' AND c.relkind = 'i' AND NOT EXISTS (
                   SELECT FROM memories_embedding e JOIN memories_embeddingmodel m ON m.id = e.model_id
                   JOIN memories_namespace s ON s.id = n.parts[2]::uuid
                   WHERE e.root_id = coalesce(s.parent_id, s.id)
                       AND (n.parts[1] = 'allvectors' OR e.namespace_id = s.id) AND NOT e.cold
                       AND left(translate(m.id::text, '-', ''), 12) = n.parts[3])"""
        )
        names = [row[0] for row in cursor]
    return sum(_drop(name) for name in names)


def analyze() -> None:
    """Statistics of the search tables as wholes: autovacuum sees to their partitions only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT nova_analyze_search()")


def _sizes(principal: Principal, standing: list[uuid.UUID]) -> list[Size]:
    """Return the scopes that are large or have an index."""
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH held AS MATERIALIZED (
                   SELECT root_id, namespace_id, model_id, tableoid::regclass::text AS partition, count(*) AS vectors
                   FROM memories_embedding WHERE project_id = %s AND NOT cold GROUP BY 1, 2, 3, 4
               )
               SELECT namespace_id, model_id, partition, vectors, false FROM held
               WHERE vectors >= %s OR namespace_id = ANY (%s)
               UNION ALL
               SELECT root_id, model_id, partition, sum(vectors), true FROM held
               GROUP BY 1, 2, 3 HAVING bool_or(namespace_id <> root_id)""",
            [principal.project_id, min(CROSSOVER, DROP_BELOW), standing],
        )
        return [Size(*row) for row in cursor]


def _standing() -> dict[str, bool]:
    """Return by name of each vector index that exists, whether it is ready."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT c.relname, i.indisvalid FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
               WHERE c.relname ~ '^(all)?vectors_'"""
        )
        return dict(cursor.fetchall())


def _build(size: Size, model: EmbeddingModel, name: str) -> bool:
    """Concurrently, as the owner, by one worker at a time; what a broken-off build left behind is dropped first."""
    column = "root_id" if size.whole else "namespace_id"
    try:
        with connections[OWNER].cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [name])
            if not cursor.fetchone()[0]:
                return False
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            cursor.execute(f"SET maintenance_work_mem = '{memory_for(size.vectors, dim=model.dim)}MB'")
            cursor.execute(
                f"""CREATE INDEX CONCURRENTLY {name} ON {size.partition}
                    USING hnsw ((vector::halfvec({int(model.dim)})) halfvec_ip_ops)
                    WITH (m = {M}, ef_construction = {EF_CONSTRUCTION})
                    WHERE {column} = '{size.scope_id}' AND model_id = '{size.model_id}' AND NOT cold"""
            )
    except DatabaseError as error:
        log.warning("index_not_built", index=name, error=type(error).__name__)
        return False
    finally:
        connections[OWNER].close()
    log.info("index_built", index=name, vectors=size.vectors)
    return True


def memory_for(vectors: int, *, dim: int) -> int:
    """Megabytes to build an index of so many half-precision vectors in."""
    return min(MOST, LEAST + vectors * (2 * dim + ELEMENT) // 2**20)


def _drop(name: str) -> bool:
    try:
        with connections[OWNER].cursor() as cursor:
            cursor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    except DatabaseError as error:
        log.warning("index_not_dropped", index=name, error=type(error).__name__)
        return False
    finally:
        connections[OWNER].close()
    return True
