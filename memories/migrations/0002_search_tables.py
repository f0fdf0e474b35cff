"""The two search tables, hash-partitioned by namespace, and the functions that fill and read the keywords.

Vectors and words are read from here alone, never through a join with the wide fragment rows (docs/decisions/0004).
"""

import itertools
import math

from django.db import migrations

from memories.migrations._sql import sql_of

PARTITIONS = 16


def partitioned(table: str, key: str, storage: str) -> str:
    """SQL that makes an empty table again as hash partitions; primary key and checks stay."""
    parts = "\n".join(
        f"CREATE TABLE {table}_{n:02} PARTITION OF {table} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {n}) "
        "WITH (fillfactor = 85);"
        for n in range(PARTITIONS)
    )
    return f"""
        ALTER TABLE {table} RENAME TO {table}_plain;
        CREATE TABLE {table} (LIKE {table}_plain INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
            PARTITION BY HASH (namespace_id);
        DROP TABLE {table}_plain;
        {storage}
        {parts}
        ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY ({key});
    """


def plain(table: str, key: str) -> str:
    """The reverse: one table."""
    return f"""
        ALTER TABLE {table} RENAME TO {table}_parts;
        CREATE TABLE {table} (LIKE {table}_parts INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
        DROP TABLE {table}_parts;
        ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY ({key});
    """


EMBEDDING_KEY = "project_id, namespace_id, fragment_id, model_id"
BOUND = 5_000  # texts
KEYWORDS_KEY = "project_id, namespace_id, fragment_id"

# Between the ranks that ts_rank gives a word for n and for n + 1 places; it keeps 255 places at the most.
_SQUARES = list(itertools.accumulate(6 / (math.pi * n) ** 2 for n in range(1, 257)))
STEPS = ",".join(f"{(less + more) / 2:.8f}" for less, more in itertools.pairwise(_SQUARES))

FUNCTIONS = sql_of(__file__, "functions").format(BOUND=BOUND, STEPS=STEPS)

DROP_FUNCTIONS = """
    DROP FUNCTION nova_keyword_hits, nova_frequency, nova_passing, nova_expected, nova_candidate_query, nova_asked, nova_all_of,
        nova_any_of, nova_index_keywords, nova_marks, nova_word_count, nova_project;
"""


class Migration(migrations.Migration):
    """Search tables and keyword functions."""

    dependencies = [("memories", "0001_tables")]

    operations = [
        migrations.RunSQL(
            partitioned(
                "memories_embedding",
                EMBEDDING_KEY,
                "ALTER TABLE memories_embedding ALTER COLUMN vector SET STORAGE PLAIN,"
                " ADD CONSTRAINT embedding_unit_length CHECK (l2_norm(vector) BETWEEN .99 AND 1.01);",
            ),
            plain("memories_embedding", EMBEDDING_KEY),
        ),
        migrations.RunSQL(
            partitioned("memories_keywords", KEYWORDS_KEY, "") + "CREATE INDEX ON memories_keywords USING gin (words);",
            plain("memories_keywords", KEYWORDS_KEY),
        ),
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
    ]
