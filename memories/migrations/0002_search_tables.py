"""The two search tables, hash-partitioned by namespace, and the functions that fill and read the keywords.

Vectors and words are read from here alone, never through a join with the wide fragment rows (docs/decisions/0004).
"""

from django.db import migrations

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
KEYWORDS_KEY = "project_id, namespace_id, fragment_id"

FUNCTIONS = """
    CREATE FUNCTION nova_project() RETURNS uuid LANGUAGE sql STABLE
        RETURN NULLIF(current_setting('nova.project', true), '')::uuid;

    CREATE FUNCTION nova_word_count(words tsvector) RETURNS integer LANGUAGE sql IMMUTABLE
        RETURN (SELECT coalesce(sum(cardinality(w.positions)), 0) FROM unnest(words) AS w);

    -- Writes the keyword rows of some fragments of the current project anew, each in its namespace's language.
    CREATE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
        INSERT INTO memories_keywords AS k (project_id, namespace_id, fragment_id, status, session_id, valid_from,
            valid_until, words, length)
        SELECT f.project_id, f.namespace_id, f.id, f.status, coalesce(c.session_id, ''), c.valid_from, c.valid_until,
            w.words, nova_word_count(w.words)
        FROM memories_fragment f
        LEFT JOIN memories_claim c ON c.project_id = f.project_id AND c.fragment_id = f.id
        JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
        CROSS JOIN LATERAL (SELECT to_tsvector(n.language::regconfig, f.content) AS words) AS w
        WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
        ON CONFLICT (project_id, namespace_id, fragment_id)
        DO UPDATE SET words = excluded.words, length = excluded.length, status = excluded.status,
            session_id = excluded.session_id, valid_from = excluded.valid_from, valid_until = excluded.valid_until;
    $$;

    CREATE FUNCTION nova_any_of(lexemes text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE
        RETURN (
            SELECT string_agg('''' || replace(replace(l, '\\', '\\\\'), '''', '''''') || '''', ' | ')::tsquery
            FROM unnest(lexemes) AS l
        );

    -- BM25 (k1 = 1.2, b = .75) of a question inside each namespace, in that namespace's language. Runs as the owner,
    -- because row-level security would keep the GIN index unused; it filters by the project itself. Claims of other
    -- sessions are never seen; those not in force at `at` neither, unless it is null.
    CREATE FUNCTION nova_keyword_hits(namespaces uuid[], statuses text[], session text, at timestamptz,
        question text, most integer)
    RETURNS TABLE (fragment_id uuid, score double precision)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        WITH asked AS MATERIALIZED (
            SELECT n.id, tsvector_to_array(to_tsvector(n.language::regconfig, question)) AS lexemes
            FROM memories_namespace n
            WHERE n.project_id = nova_project() AND n.id = ANY (namespaces)
        ), size AS MATERIALIZED (
            SELECT k.namespace_id, count(*)::float8 AS documents, greatest(avg(k.length), 1)::float8 AS mean_length
            FROM memories_keywords k
            WHERE k.project_id = nova_project() AND k.namespace_id = ANY (namespaces) AND k.status = ANY (statuses)
                AND (k.session_id = '' OR k.session_id = session)
                AND (at IS NULL OR (k.valid_from IS NULL OR k.valid_from <= at)
                    AND (k.valid_until IS NULL OR k.valid_until > at))
            GROUP BY k.namespace_id
        ), hit AS MATERIALIZED (
            SELECT k.namespace_id, k.fragment_id, k.length, w.lexeme, cardinality(w.positions) AS frequency
            FROM asked a
            JOIN memories_keywords k ON k.project_id = nova_project() AND k.namespace_id = a.id
                AND k.status = ANY (statuses) AND k.words @@ nova_any_of(a.lexemes)
                AND (k.session_id = '' OR k.session_id = session)
                AND (at IS NULL OR (k.valid_from IS NULL OR k.valid_from <= at)
                    AND (k.valid_until IS NULL OR k.valid_until > at))
            CROSS JOIN LATERAL unnest(k.words) AS w
            WHERE w.lexeme = ANY (a.lexemes)
        ), rarity AS MATERIALIZED (
            SELECT h.namespace_id, h.lexeme, ln(1 + (s.documents - count(*) + .5) / (count(*) + .5)) AS idf
            FROM hit h JOIN size s USING (namespace_id)
            GROUP BY h.namespace_id, h.lexeme, s.documents
        )
        SELECT h.fragment_id,
            sum(r.idf * h.frequency * 2.2 / (h.frequency + 1.2 * (.25 + .75 * h.length / s.mean_length))) AS score
        FROM hit h JOIN rarity r USING (namespace_id, lexeme) JOIN size s USING (namespace_id)
        GROUP BY h.fragment_id
        ORDER BY score DESC, h.fragment_id
        LIMIT most;
    $$;
"""

DROP_FUNCTIONS = """
    DROP FUNCTION nova_keyword_hits, nova_any_of, nova_index_keywords, nova_word_count, nova_project;
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
