DROP FUNCTION nova_keyword_hits, nova_passing, nova_expected, nova_asked;

-- Writes the keyword rows of some fragments of the current project anew, each in its root namespace's language.
CREATE OR REPLACE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memories_keywords AS k (project_id, root_id, namespace_id, fragment_id, status, session_id, valid_from,
        valid_until, words, length)
    SELECT f.project_id, r.id, f.namespace_id, f.id, f.status, coalesce(c.session_id, ''), c.valid_from, c.valid_until,
        w.words || array_to_tsvector(nova_marks(f)), nova_word_count(w.words)
    FROM memories_fragment f
    LEFT JOIN memories_claim c ON c.project_id = f.project_id AND c.fragment_id = f.id
    JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
    JOIN memories_namespace r ON r.project_id = n.project_id AND r.id = coalesce(n.parent_id, n.id)
    -- OFFSET 0: worked out once, not once for each use.
    CROSS JOIN LATERAL (SELECT to_tsvector(r.language::regconfig, f.content) AS words OFFSET 0) AS w
    WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
    ON CONFLICT (project_id, root_id, namespace_id, fragment_id)
    DO UPDATE SET words = excluded.words, length = excluded.length, status = excluded.status,
        session_id = excluded.session_id, valid_from = excluded.valid_from, valid_until = excluded.valid_until;
$$;

-- What a question asks of a scope (null: of all users of a root): its lexemes in the root's language, each with the
-- number of texts that hold it, null where nobody counted. Of a long question the hundred rarest, among uncounted ones
-- the longest.
CREATE FUNCTION nova_asked(root uuid, namespace uuid, question text) RETURNS TABLE (lexeme text, documents integer)
LANGUAGE sql STABLE AS $$
    SELECT l.lexeme, d.documents
    FROM memories_namespace n
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector(n.language::regconfig, question))) AS l (lexeme)
    LEFT JOIN memories_documentfrequency d
        ON d.project_id = n.project_id AND d.namespace_id = coalesce(namespace, root)
            AND d.all_users = (namespace IS NULL) AND d.lexeme = l.lexeme
    WHERE n.project_id = nova_project() AND n.id = root
    ORDER BY d.documents NULLS FIRST, length(l.lexeme) DESC, l.lexeme LIMIT 100;
$$;

-- How many of `total` texts of a scope are likely to carry a mark of each set (the sets taken as independent).
CREATE FUNCTION nova_expected(root uuid, namespace uuid, marks jsonb, total float8) RETURNS float8 LANGUAGE sql STABLE AS $$
    SELECT total * exp(sum(ln(least(1, sets.held / total)))) FROM (
        SELECT sum(coalesce(
            -- Looked up one by one: nothing tells the planner how few they are.
            (SELECT d.documents FROM memories_documentfrequency d
                WHERE d.project_id = nova_project() AND d.namespace_id = coalesce(namespace, root)
                    AND d.all_users = (namespace IS NULL) AND d.lexeme = mark), 1)) AS held
        FROM jsonb_array_elements(marks) WITH ORDINALITY AS one (alike, place)
        CROSS JOIN LATERAL jsonb_array_elements_text(one.alike) AS mark
        GROUP BY one.place
    ) AS sets;
$$;

-- Those of a scope that carry a mark of each set of `marks` ([[mark, …], …]); null when they are more than `most`.
-- Where words are counted, an estimate (the sets taken as independent) saves looking for many.
CREATE FUNCTION nova_passing(root uuid, namespace uuid, statuses text[], marks jsonb, most integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    total float8;
    found uuid[];
BEGIN
    SELECT s.documents INTO total FROM memories_keywordstatistics s
        WHERE s.project_id = nova_project() AND s.namespace_id = coalesce(namespace, root)
            AND s.all_users = (namespace IS NULL);
    IF total > 0 AND nova_expected(root, namespace, marks, total) > most THEN
        RETURN NULL;
    END IF;
    -- Literals, so that one partition is planned for.
    EXECUTE format($q$
        SELECT array_agg(k.fragment_id) FROM (
            SELECT k.fragment_id FROM memories_keywords k
            WHERE k.project_id = %L AND k.root_id = %L AND %s AND k.status = ANY ($1) AND k.words @@ %L::tsquery
            LIMIT $2 + 1
        ) AS k $q$, nova_project(), root,
        CASE WHEN namespace IS NULL THEN 'true' ELSE format('k.namespace_id = %L', namespace) END,
        nova_all_of(marks)) INTO found USING statuses, most;
    RETURN CASE WHEN found IS NULL THEN '{}' WHEN cardinality(found) <= most THEN found END;
END $$;

-- BM25 (k1 = .9, b = .4) of a question inside one scope, or, where `namespace` is null, a root with all its users; in no order. Runs as the owner, because row-level security
-- would keep the GIN index unused; it filters by the project itself. Claims of other sessions are never seen; those
-- not in force at `at` neither, unless it is null. `among` narrows it down to these fragments, `marks` ([[mark, …], …])
-- to those that carry one of each set; `few` tells how many pass, null for unknown. About `budget` texts are looked
-- at, and more until `enough` were found; in a small namespace all that hold a word.
CREATE FUNCTION nova_keyword_hits(root uuid, namespace uuid, statuses text[], session text, at timestamptz, question text,
    among uuid[], marks jsonb, few integer, budget integer, enough integer, most integer)
RETURNS TABLE (fragment_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    -- Texts that a round looks at and that are counted where nobody did: beyond, those with the lowest ids, which are
    -- random; the order of the table would tell of other tenants.
    bound constant integer := 5_000;
    lexemes text[];
    words tsquery[];
    frequencies integer[];
    held integer[];
    total float8;
    ground float8;
    mean float8;
    wanted tsquery;
    expected float8;
    met tsquery;
    fewer integer := 0;
    came integer;
    together integer := 0;
    -- Literals, so that one partition is planned for.
    seen text := format($f$k.project_id = %L AND k.root_id = %L AND %s AND k.status = ANY ($1)
        AND (k.session_id = '' OR k.session_id = $2)
        AND ($3 IS NULL OR (k.valid_from IS NULL OR k.valid_from <= $3) AND (k.valid_until IS NULL OR k.valid_until > $3))
        $f$, nova_project(), root, CASE WHEN namespace IS NULL THEN 'true' ELSE format('k.namespace_id = %L', namespace) END);
BEGIN
    SELECT array_agg(a.lexeme), array_agg(nova_any_of(ARRAY[a.lexeme])), array_agg(coalesce(a.documents, 1))
        INTO lexemes, words, frequencies FROM nova_asked(root, namespace, question) a;
    IF lexemes IS NULL THEN
        RETURN;
    END IF;
    SELECT s.documents, s.mean_length, least(few, CASE WHEN marks IS NULL THEN s.documents
            ELSE nova_expected(root, namespace, marks, s.documents) END)
        INTO total, mean, ground FROM memories_keywordstatistics s
        WHERE s.project_id = nova_project() AND s.namespace_id = coalesce(namespace, root)
            AND s.all_users = (namespace IS NULL);
    IF total IS NULL THEN
        EXECUTE format(
            'SELECT count(*), greatest(avg(k.length), 1), ARRAY[%s]::integer[]
                FROM (SELECT k.words, k.length FROM memories_keywords k WHERE %s ORDER BY k.fragment_id LIMIT %s) AS k',
            (SELECT string_agg(format('count(*) FILTER (WHERE k.words @@ %L::tsquery)', w.word), ', ' ORDER BY w.place)
                FROM unnest(words) WITH ORDINALITY AS w (word, place)), seen, bound
        ) INTO ground, mean, frequencies USING statuses, session, at;
        total := ground;
        IF ground < bound THEN
            budget := greatest(budget, (SELECT sum(f) FROM unnest(frequencies) AS f));
        ELSE
            EXECUTE format('SELECT count(*) FROM memories_keywords k WHERE %s', seen)
                INTO total USING statuses, session, at;
            frequencies := ARRAY(SELECT ceil(f * total / ground) FROM unnest(frequencies) AS f);
            ground := least(few, total);
        END IF;
    END IF;
    -- Among few, a word stands in as much fewer texts.
    held := ARRAY(SELECT greatest(1, ceil(f * ground / greatest(total, 1))) FROM unnest(frequencies) AS f);
    LOOP
        SELECT q.wanted, q.expected INTO wanted, expected
            FROM nova_candidate_query(lexemes, held, greatest(ground, 1), budget, fewer) AS q;
        EXIT WHEN wanted IS NULL;
        wanted := coalesce(wanted && nova_all_of(marks), wanted);
        RETURN QUERY EXECUTE format($q$
            WITH candidate AS MATERIALIZED (
                -- OFFSET 0: the order must not lead to an index that finds few in it.
                SELECT k.* FROM (
                    SELECT k.fragment_id, k.words, k.length FROM memories_keywords k
                    WHERE %s AND k.words @@ %L::tsquery AND ($4 IS NULL OR k.fragment_id = ANY ($4)) %s OFFSET 0
                ) AS k ORDER BY k.fragment_id LIMIT %s
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
            $q$, seen, coalesce(wanted && !! met, wanted),
            -- Known beforehand to be many: the ids say which, before rows are read.
            CASE WHEN expected > bound AND among IS NULL AND 'active' = ANY (statuses) THEN format(
                'AND k.fragment_id <= %L', lpad(to_hex((bound / expected * 4294967295)::bigint), 8, '0')
                    || repeat('f', 24)) END,
            bound)
        USING statuses, session, at, among, words, frequencies, total, mean, most;
        GET DIAGNOSTICS came = ROW_COUNT;
        together := together + came;
        -- Words that seldom meet: first more texts are looked at, then fewer words have to.
        EXIT WHEN together >= enough;
        met := coalesce(met || wanted, wanted);
        fewer := fewer + (budget >= bound)::integer;
        budget := greatest(budget, bound);
    END LOOP;
END $$;
