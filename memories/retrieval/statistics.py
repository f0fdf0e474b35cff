"""Statistics of large namespaces, counted in the background: what BM25 needs to begin with the rarest words."""

import datetime
import uuid

from django.db import connection

from memories import access
from memories.access import Principal
from memories.models import DocumentFrequency, Keywords, KeywordStatistics

# Below, every text that holds a word of the question is looked at anyway.
LARGE = 1_000
# Counted again when so large a part of the texts came or went.
DRIFT = 0.1
# Words of fewer texts are left out: they count as rare, and what was forgotten can't be read off them.
COMMON = 5

COUNT = """
    INSERT INTO memories_documentfrequency (project_id, namespace_id, lexeme, documents)
    SELECT %(project)s, %(namespace)s, word, ndoc
    FROM ts_stat(format('SELECT words FROM memories_keywords WHERE project_id = %%L AND namespace_id = %%L'
        ' AND status = ''active''', %(project)s::uuid, %(namespace)s::uuid))
    WHERE ndoc >= %(common)s"""


def keep_statistics(principal: Principal, *, now: datetime.datetime) -> int:
    """Counts the project's large namespaces that changed much since they were counted; answers how many."""
    with access.enter(principal, why="statistics"):
        due = _due(principal)
    for namespace_id in due:
        with access.enter(principal, why="statistics"):
            _count(principal, namespace_id, now)
    return len(due)


def _due(principal: Principal) -> list[uuid.UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT k.namespace_id FROM memories_keywords k
               LEFT JOIN memories_keywordstatistics s ON s.project_id = k.project_id AND s.namespace_id = k.namespace_id
               WHERE k.project_id = %s AND k.status = 'active'
               GROUP BY k.namespace_id, s.documents
               HAVING count(*) >= %s
                   AND (s.documents IS NULL OR abs(count(*) - s.documents) > %s * greatest(s.documents, 1))
                   OR count(*) < %s AND s.documents IS NOT NULL""",
            [principal.project_id, LARGE, DRIFT, LARGE],
        )
        return [row[0] for row in cursor]


def _count(principal: Principal, namespace_id: uuid.UUID, now: datetime.datetime) -> None:
    mine = {"project_id": principal.project_id, "namespace_id": namespace_id}
    KeywordStatistics.objects.filter(**mine).delete()
    DocumentFrequency.objects.filter(**mine).delete()
    texts = Keywords.objects.filter(**mine, status="active")
    lengths = list(texts.values_list("length", flat=True))
    if len(lengths) < LARGE:
        return
    mean = max(1.0, sum(lengths) / len(lengths))
    KeywordStatistics.objects.create(**mine, documents=len(lengths), mean_length=mean, counted_at=now)
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"project": principal.project_id, "namespace": namespace_id, "common": COMMON})
