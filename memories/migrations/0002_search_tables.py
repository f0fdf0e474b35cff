"""The two search tables, hash-partitioned by namespace, and the functions that fill and read the keywords.

Vectors and words are read from here alone, never through a join with the wide fragment rows (docs/decisions/0004).
"""

import itertools
import math

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

# Between the ranks that ts_rank gives a word for n and for n + 1 places; it keeps 255 places at the most.
_SQUARES = list(itertools.accumulate(6 / (math.pi * n) ** 2 for n in range(1, 257)))
STEPS = ",".join(f"{(less + more) / 2:.8f}" for less, more in itertools.pairwise(_SQUARES))

FUNCTIONS = f"""
    CREATE FUNCTION nova_project() RETURNS uuid LANGUAGE sql STABLE
        RETURN NULLIF(current_setting('nova.project', true), '')::uuid;

    CREATE FUNCTION nova_word_count(words tsvector) RETURNS integer LANGUAGE sql IMMUTABLE
        RETURN (SELECT coalesce(sum(cardinality(w.positions)), 0) FROM unnest(words) AS w);

    -- How often a word stands in a text, from what ts_rank makes of that: 6/π² · Σ 1/n², n counting its places. Taking the
    -- text apart (unnest) takes five times as long.
    CREATE FUNCTION nova_frequency(words tsvector, word tsquery) RETURNS integer LANGUAGE sql IMMUTABLE
        RETURN 1 + width_bucket(ts_rank('{{1,1,1,1}}', words, word)::float8, '{{{STEPS}}}'::float8[]);

    -- What filters may ask of a fragment, as words that no text holds: so GIN answers words and filters together.
    CREATE FUNCTION nova_marks(f memories_fragment) RETURNS text[] LANGUAGE sql IMMUTABLE
        RETURN ARRAY[E'\\x01type ' || f.type, E'\\x01source_type ' || f.source_type, E'\\x01agent ' || f.agent_id,
                E'\\x01tier ' || f.tier]
            || CASE WHEN f.outcome <> '' THEN ARRAY[E'\\x01outcome ' || f.outcome] END
            || CASE WHEN f.conversation_id <> '' THEN ARRAY[E'\\x01conversation_id ' || f.conversation_id] END
            || CASE WHEN f.workflow_id <> '' THEN ARRAY[E'\\x01workflow_id ' || f.workflow_id] END
            || ARRAY(SELECT E'\\x01tags ' || tag FROM unnest(f.tags) AS tag);

    -- Writes the keyword rows of some fragments of the current project anew, each in its namespace's language.
    CREATE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
        INSERT INTO memories_keywords AS k (project_id, namespace_id, fragment_id, status, session_id, valid_from,
            valid_until, words, length)
        SELECT f.project_id, f.namespace_id, f.id, f.status, coalesce(c.session_id, ''), c.valid_from, c.valid_until,
            w.words || array_to_tsvector(nova_marks(f)), nova_word_count(w.words)
        FROM memories_fragment f
        LEFT JOIN memories_claim c ON c.project_id = f.project_id AND c.fragment_id = f.id
        JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
        -- OFFSET 0: worked out once, not once for each use.
        CROSS JOIN LATERAL (SELECT to_tsvector(n.language::regconfig, f.content) AS words OFFSET 0) AS w
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

    -- One of each set ([[lexeme, …], …]); null for no set.
    CREATE FUNCTION nova_all_of(sets jsonb) RETURNS tsquery LANGUAGE sql IMMUTABLE
        RETURN (
            SELECT string_agg(format('(%s)', nova_any_of(ARRAY(SELECT jsonb_array_elements_text(one)))), ' & ')::tsquery
            FROM jsonb_array_elements(sets) AS one
        );

    -- What a question asks of a namespace: its lexemes in the namespace's language, each with the number of texts that
    -- hold it, null where nobody counted.
    CREATE FUNCTION nova_asked(namespace uuid, question text) RETURNS TABLE (lexeme text, documents integer)
    LANGUAGE sql STABLE AS $$
        SELECT l.lexeme, d.documents
        FROM memories_namespace n
        CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector(n.language::regconfig, question))) AS l (lexeme)
        LEFT JOIN memories_documentfrequency d
            ON d.project_id = n.project_id AND d.namespace_id = n.id AND d.lexeme = l.lexeme
        WHERE n.project_id = nova_project() AND n.id = namespace;
    $$;

    -- How many of a question's words, the rarest first, have to meet in a text so that at most `budget` of `total` texts
    -- hold them (words taken as independent).
    CREATE FUNCTION nova_meeting(documents integer[], total float8, budget integer) RETURNS integer LANGUAGE sql IMMUTABLE
        RETURN (
            SELECT coalesce(min(w.place) FILTER (WHERE total * exp(w.share) <= budget), count(*))
            FROM (
                SELECT row_number() OVER rarest AS place, sum(ln(least(1, held / total))) OVER rarest AS share
                FROM unnest(documents) AS held WINDOW rarest AS (ORDER BY held ROWS UNBOUNDED PRECEDING)
            ) AS w
        );

    -- The texts to look at: where so many words have to meet, all but the last of these are the rarest, and the last is any
    -- of the next, as many as `budget` texts hold together.
    CREATE FUNCTION nova_candidate_query(lexemes text[], documents integer[], total float8, budget integer, meeting integer)
    RETURNS tsquery LANGUAGE sql IMMUTABLE AS $$
        WITH word AS (
            SELECT nova_any_of(ARRAY[w.lexeme])::text AS word, w.held, row_number() OVER (ORDER BY w.held, w.lexeme) AS place
            FROM unnest(lexemes, documents) AS w (lexeme, held)
        ), base AS (
            SELECT string_agg(w.word, ' & ') AS words, coalesce(exp(sum(ln(least(1, w.held / total)))), 1) AS share
            FROM word w WHERE w.place < meeting
        ), last AS (
            SELECT w.word, w.place, sum(w.held) OVER (ORDER BY w.place) AS together FROM word w WHERE w.place >= meeting
        )
        SELECT concat_ws(' & ', max(b.words), '(' || string_agg(l.word, ' | ') || ')')::tsquery
        FROM base b CROSS JOIN last l WHERE l.place = meeting OR l.together * b.share <= budget;
    $$;

    -- Those of a namespace that carry a mark of each set of `marks` ([[mark, …], …]); null when they are more than `most`.
    -- Where words are counted, an estimate (the sets taken as independent) saves looking for many.
    CREATE FUNCTION nova_passing(namespace uuid, statuses text[], marks jsonb, most integer) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        total float8;
        expected float8;
        found uuid[];
    BEGIN
        SELECT s.documents INTO total FROM memories_keywordstatistics s
            WHERE s.project_id = nova_project() AND s.namespace_id = namespace;
        IF total > 0 THEN
            SELECT total * exp(sum(ln(least(1, held / total)))) INTO expected FROM (
                SELECT sum(coalesce(
                    -- Looked up one by one: nothing tells the planner how few they are.
                    (SELECT d.documents FROM memories_documentfrequency d
                        WHERE d.project_id = nova_project() AND d.namespace_id = namespace AND d.lexeme = mark), 1)) AS held
                FROM jsonb_array_elements(marks) WITH ORDINALITY AS one (alike, place)
                CROSS JOIN LATERAL jsonb_array_elements_text(one.alike) AS mark
                GROUP BY one.place
            ) AS sets;
            IF expected > most THEN
                RETURN NULL;
            END IF;
        END IF;
        -- Literals, so that one partition is planned for.
        EXECUTE format($q$
            SELECT array_agg(k.fragment_id) FROM (
                SELECT k.fragment_id FROM memories_keywords k
                WHERE k.project_id = %L AND k.namespace_id = %L AND k.status = ANY ($1) AND k.words @@ %L::tsquery
                LIMIT $2 + 1
            ) AS k $q$, nova_project(), namespace, nova_all_of(marks)) INTO found USING statuses, most;
        RETURN CASE WHEN found IS NULL THEN '{{}}' WHEN cardinality(found) <= most THEN found END;
    END $$;

    -- BM25 (k1 = .9, b = .4) of a question inside one namespace. Runs as the owner, because row-level security would
    -- keep the GIN index unused; it filters by the project itself. Claims of other sessions are never seen; those not in
    -- force at `at` neither, unless it is null. `among` narrows it down to these fragments, `marks` ([[mark, …], …]) to
    -- those that carry one of each set; `few` tells how many these are, null for many. Where statistics are kept, about `budget` candidates come from the rarest words;
    -- elsewhere every text that holds one counts.
    CREATE FUNCTION nova_keyword_hits(namespace uuid, statuses text[], session text, at timestamptz, question text,
        among uuid[], marks jsonb, few integer, budget integer, most integer)
    RETURNS TABLE (fragment_id uuid, score double precision)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        lexemes text[];
        words tsquery[];
        frequencies integer[];
        shares integer[];
        total float8;
        ground float8;
        mean float8;
        wanted tsquery;
        met tsquery;
        meeting integer := 0;
        bounded text := '';
        came integer;
        together integer := 0;
        -- Literals, so that one partition is planned for.
        seen text := format($f$k.project_id = %L AND k.namespace_id = %L AND k.status = ANY ($1)
            AND (k.session_id = '' OR k.session_id = $2)
            AND ($3 IS NULL OR (k.valid_from IS NULL OR k.valid_from <= $3) AND (k.valid_until IS NULL OR k.valid_until > $3))
            $f$, nova_project(), namespace);
    BEGIN
        SELECT array_agg(a.lexeme), array_agg(nova_any_of(ARRAY[a.lexeme])), array_agg(coalesce(a.documents, 1))
            INTO lexemes, words, frequencies FROM nova_asked(namespace, question) a;
        IF lexemes IS NULL THEN
            RETURN;
        END IF;
        SELECT s.documents, s.mean_length INTO total, mean FROM memories_keywordstatistics s
            WHERE s.project_id = nova_project() AND s.namespace_id = namespace;
        IF total IS NULL THEN
            EXECUTE format(
                'SELECT count(*), greatest(avg(k.length), 1), ARRAY[%s]::integer[] FROM memories_keywords k WHERE %s',
                (SELECT string_agg(format('count(*) FILTER (WHERE k.words @@ %L::tsquery)', w.word), ', ' ORDER BY w.place)
                    FROM unnest(words) WITH ORDINALITY AS w (word, place)), seen
            ) INTO total, mean, frequencies USING statuses, session, at;
        ELSE
            bounded := format('LIMIT %s', 2 * budget);
            shares := frequencies;
            ground := total;
            IF few < total THEN  -- among few, a word stands in as much fewer texts
                ground := greatest(few, 1);
                shares := ARRAY(SELECT ceil(f * ground / total) FROM unnest(frequencies) AS f);
            END IF;
            meeting := nova_meeting(shares, ground, budget);
        END IF;
        LOOP
            wanted := CASE WHEN meeting = 0 THEN nova_any_of(lexemes)
                ELSE nova_candidate_query(lexemes, shares, ground, budget, meeting) END;
            wanted := CASE WHEN marks IS NULL THEN wanted ELSE wanted && nova_all_of(marks) END;
            RETURN QUERY EXECUTE format($q$
                WITH candidate AS MATERIALIZED (
                    SELECT k.fragment_id, k.words, k.length FROM memories_keywords k
                    WHERE %s AND k.words @@ %L::tsquery AND ($4 IS NULL OR k.fragment_id = ANY ($4)) %s
                ), asked AS MATERIALIZED (
                    SELECT a.word, ln(1 + (greatest($7, a.held) - a.held + .5) / (a.held + .5)) AS idf
                    FROM unnest($5, $6::float8[]) AS a (word, held)
                )
                SELECT c.fragment_id, (
                    SELECT sum(a.idf * 1.9 / (1 + .9 * (.6 + c.length / $8 * .4) / nova_frequency(c.words, a.word)))
                    FROM asked a WHERE c.words @@ a.word)
                FROM candidate c
                ORDER BY 2 DESC, c.fragment_id
                LIMIT $9
                $q$, seen, coalesce(wanted && !! met, wanted), bounded)
            USING statuses, session, at, among, words, frequencies, total, mean, most;
            GET DIAGNOSTICS came = ROW_COUNT;
            together := together + came;
            -- Words that seldom meet: fewer have to, until there are enough.
            EXIT WHEN meeting <= 1 OR together >= least(most, budget / 10);
            met := coalesce(met || wanted, wanted);
            meeting := meeting - 1;
        END LOOP;
    END $$;
"""

DROP_FUNCTIONS = """
    DROP FUNCTION nova_keyword_hits, nova_frequency, nova_passing, nova_candidate_query, nova_meeting, nova_asked, nova_all_of,
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
