"""Statistics of large namespaces, counted in the background: what BM25 needs to begin with the rarest words."""

import datetime
import uuid

from memories import access
from memories.access import Principal
from memories.models import DocumentFrequency, Keywords, KeywordStatistics
from memories.models.sql import execute, fetch

# Below, every text that holds a word of the question is looked at anyway.
LARGE = 1_000
# Counted again when so large a part of the texts came or went.
DRIFT = 0.1
# Words of fewer texts are left out: they count as rare, and what was forgotten can't be read off them.
COMMON = 5

COUNT = """
    INSERT INTO memories_documentfrequency (project_id, namespace_id, all_users, lexeme, documents)
    SELECT %(project)s, %(namespace)s, %(all_users)s, word, ndoc
    FROM ts_stat(format('SELECT words FROM memories_keywords WHERE project_id = %%L AND root_id = %%L'
        ' AND (%%L OR namespace_id = %%L) AND status = %%L',
        %(project)s::uuid, %(root)s::uuid, %(all_users)s::boolean, %(namespace)s::uuid, 'active'))
    WHERE ndoc >= %(common)s"""
# Of each scope, and of each namespace that has users with all of them.
DUE = """
    WITH held AS MATERIALIZED (
        SELECT k.root_id, k.namespace_id, count(*) AS texts FROM memories_keywords k
        WHERE k.project_id = %(project)s AND k.status = 'active' GROUP BY 1, 2
    ), told AS (
        SELECT root_id, namespace_id, false AS all_users, texts FROM held
        UNION ALL
        SELECT root_id, root_id, true, sum(texts) FROM held GROUP BY root_id HAVING bool_or(namespace_id <> root_id)
    )
    SELECT t.root_id, t.namespace_id, t.all_users FROM told t
    LEFT JOIN memories_keywordstatistics s
        ON s.project_id = %(project)s AND s.namespace_id = t.namespace_id AND s.all_users = t.all_users
    WHERE t.texts >= %(large)s
            AND (s.documents IS NULL OR abs(t.texts - s.documents) > %(drift)s * greatest(s.documents, 1))
        OR t.texts < %(large)s AND s.documents IS NOT NULL"""


def refresh_statistics(principal: Principal, *, now: datetime.datetime) -> int:
    """Count the project's large scopes that changed much since they were counted; answer how many."""
    with access.enter(principal, why="statistics"):
        due = fetch(DUE, {"project": principal.project_id, "large": LARGE, "drift": DRIFT})
    for root_id, namespace_id, all_users in due:
        with access.enter(principal, why="statistics"):
            _count(principal, root_id, namespace_id, all_users=all_users, now=now)
    return len(due)


def _count(
    principal: Principal, root_id: uuid.UUID, namespace_id: uuid.UUID, *, all_users: bool, now: datetime.datetime
) -> None:
    scope = {"project_id": principal.project_id, "namespace_id": namespace_id, "all_users": all_users}
    KeywordStatistics.objects.filter(**scope).delete()
    DocumentFrequency.objects.filter(**scope).delete()
    texts = Keywords.objects.within(principal.project_id).filter(root=root_id, status="active")
    texts = texts if all_users else texts.filter(namespace=namespace_id)
    lengths = list(texts.values_list("length", flat=True))
    if len(lengths) < LARGE:
        return
    mean = max(1.0, sum(lengths) / len(lengths))
    KeywordStatistics.objects.create(**scope, documents=len(lengths), mean_length=mean, counted_at=now)
    counted = {"project": principal.project_id, "root": root_id, "namespace": namespace_id, "all_users": all_users}
    execute(COUNT, {**counted, "common": COMMON})
