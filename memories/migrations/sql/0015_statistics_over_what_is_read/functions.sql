DROP FUNCTION nova_keyword_hits;

-- Writes the keyword rows of some fragments of the current project anew, each in its root namespace's language.
CREATE OR REPLACE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memories_keywords AS k (project_id, root_id, namespace_id, fragment_id, status, session_id, valid_from,
        valid_until, words, length)
    SELECT f.project_id, r.id, f.namespace_id, f.id, f.status, c.session_id, c.valid_from, c.valid_until,
        w.words || array_to_tsvector(nova_marks(f)), nova_word_count(w.words)
    FROM memories_fragment f
    CROSS JOIN LATERAL nova_reach(f.project_id, f.id) AS c
    -- OFFSET 0, and no join: looked up for each fragment, or the planner begins with all users of the project.
    CROSS JOIN LATERAL (
        SELECT r.id, r.language FROM memories_namespace r WHERE r.id = nova_root(f.namespace_id) OFFSET 0
    ) AS r
    -- Worked out once, not once for each use.
    CROSS JOIN LATERAL (SELECT to_tsvector(r.language::regconfig, f.content) AS words OFFSET 0) AS w
    WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
    ON CONFLICT (project_id, root_id, namespace_id, fragment_id)
    DO UPDATE SET words = excluded.words, length = excluded.length, status = excluded.status,
        session_id = excluded.session_id, valid_from = excluded.valid_from, valid_until = excluded.valid_until;
$$;

-- What a scope, or, where `namespace` is null, a root with all its users, tells of a question: its words in the root's
-- language, in how many texts each stands, how many texts there are and how long one is. `counted`: by the task that
-- keeps statistics, which leaves out rare words (null); else here, among the texts that the reader sees.
CREATE FUNCTION nova_counted(root uuid, namespace uuid, statuses text[], session text, at timestamptz, question text,
    OUT lexemes text[], OUT held integer[], OUT documents float8, OUT mean_length float8, OUT counted boolean)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    -- Texts that are looked at: beyond, those with the lowest ids, which are random; the order of the table would tell
    -- of other tenants.
    bound constant integer := {BOUND};
    looked_at float8;
    -- Literals, so that one partition is planned for.
    seen text := format($f$k.project_id = %L AND k.root_id = %L AND %s AND k.status = ANY ($1)
        AND (k.session_id = '' OR k.session_id = $2)
        AND ($3 IS NULL OR (k.valid_from IS NULL OR k.valid_from <= $3) AND (k.valid_until IS NULL OR k.valid_until > $3))
        $f$, nova_project(), root, CASE WHEN namespace IS NULL THEN 'true' ELSE format('k.namespace_id = %L', namespace) END);
BEGIN
    SELECT array_agg(a.lexeme), array_agg(a.documents) INTO lexemes, held
        FROM nova_asked(root, namespace, question) AS a;
    SELECT s.documents, s.mean_length INTO documents, mean_length FROM memories_keywordstatistics s
        WHERE s.project_id = nova_project() AND s.namespace_id = coalesce(namespace, root)
            AND s.all_users = (namespace IS NULL);
    counted := documents IS NOT NULL;
    IF counted OR lexemes IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'SELECT count(*), greatest(avg(k.length), 1), ARRAY[%s]::integer[]
            FROM (SELECT k.words, k.length FROM memories_keywords k WHERE %s ORDER BY k.fragment_id LIMIT %s) AS k',
        (SELECT string_agg(format('count(*) FILTER (WHERE k.words @@ %L::tsquery)', nova_any_of(ARRAY[w.word])), ', '
            ORDER BY w.place) FROM unnest(lexemes) WITH ORDINALITY AS w (word, place)), seen, bound
    ) INTO looked_at, mean_length, held USING statuses, session, at;
    documents := looked_at;
    IF looked_at = bound THEN
        EXECUTE format('SELECT count(*) FROM memories_keywords k WHERE %s', seen) INTO documents USING statuses, session, at;
        held := ARRAY(SELECT ceil(h * documents / looked_at) FROM unnest(held) AS h);
    END IF;
END $$;

-- What each of these scopes tells of a question, and what they tell together: scores of all that is read compare, and
-- nothing else has a part in them.
CREATE FUNCTION nova_read(roots uuid[], scopes uuid[], statuses text[], session text, at timestamptz, question text)
RETURNS TABLE (place bigint, lexemes text[], held integer[], documents float8, counted boolean, held_of_all float8[],
    documents_of_all float8, mean_length_of_all float8)
LANGUAGE sql STABLE AS $$
    WITH each AS MATERIALIZED (
        SELECT n.place, c.* FROM unnest(roots, scopes) WITH ORDINALITY AS n (root, scope, place)
        CROSS JOIN LATERAL nova_counted(n.root, n.scope, statuses, session, at, question) AS c
        WHERE c.lexemes IS NOT NULL
    ), word AS MATERIALIZED (
        SELECT w.lexeme, greatest(1, sum(w.held))::float8 AS held
        FROM each e CROSS JOIN LATERAL unnest(e.lexemes, e.held) AS w (lexeme, held) GROUP BY w.lexeme
    )
    SELECT e.place, e.lexemes, e.held, e.documents, e.counted,
        ARRAY(SELECT w.held FROM unnest(e.lexemes) WITH ORDINALITY AS l (lexeme, place)
            JOIN word w ON w.lexeme = l.lexeme ORDER BY l.place),
        sum(e.documents) OVER (),
        greatest(1, sum(e.documents * e.mean_length) OVER () / greatest(1, sum(e.documents) OVER ()))
    FROM each e;
$$;

-- BM25 (k1 = .9, b = .4) of a question's words inside one scope, or, where `namespace` is null, a root with all its
-- users; in no order. `held`, `documents` and `counted` are what the scope tells of them, as in nova_counted, and say
-- where to look; what all scopes that are read tell together weighs what is found. Runs as the owner, because
-- row-level security would keep the GIN index unused; it filters by the project itself. Claims of other sessions are
-- never seen; those not in force at `at` neither, unless it is null. `among` narrows it down to these fragments, `marks`
-- ([[mark, …], …]) to those that carry one of each set; `few` tells how many pass, null for unknown. About `budget`
-- texts are looked at, and more until `enough` were found; in a small scope all that hold a word.
CREATE FUNCTION nova_keyword_hits(root uuid, namespace uuid, statuses text[], session text, at timestamptz,
    lexemes text[], held integer[], documents float8, counted boolean, held_of_all float8[], documents_of_all float8,
    mean_length_of_all float8, among uuid[], marks jsonb, few integer, budget integer, enough integer, most integer)
RETURNS TABLE (fragment_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    -- Texts that a round looks at: beyond, those with the lowest ids, as in nova_counted.
    bound constant integer := {BOUND};
    words tsquery[] := ARRAY(SELECT nova_any_of(ARRAY[l.word]) FROM unnest(lexemes) WITH ORDINALITY AS l (word, place)
        ORDER BY l.place);
    ground float8 := documents;
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
    IF documents = 0 THEN
        RETURN;
    ELSIF counted THEN
        ground := least(few, CASE WHEN marks IS NULL THEN documents ELSE nova_expected(root, namespace, marks, documents) END);
    ELSIF documents < bound THEN
        budget := greatest(budget, (SELECT sum(h) FROM unnest(held) AS h));
    ELSE
        ground := least(few, documents);
    END IF;
    -- Among few, a word stands in as much fewer texts.
    held := ARRAY(SELECT greatest(1, ceil(h * ground / greatest(documents, 1))) FROM unnest(held) AS h);
    LOOP
        SELECT q.wanted, least(q.expected, ground) INTO wanted, expected
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
                FROM unnest($5, $6) AS a (word, held)
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
        USING statuses, session, at, among, words, held_of_all, documents_of_all, mean_length_of_all, most;
        GET DIAGNOSTICS came = ROW_COUNT;
        together := together + came;
        -- Words that seldom meet: first more texts are looked at, then fewer words have to.
        EXIT WHEN together >= enough;
        met := coalesce(met || wanted, wanted);
        fewer := fewer + (budget >= bound)::integer;
        budget := greatest(budget, bound);
    END LOOP;
END $$;
