-- BM25 (k1 = .9, b = .4) of a question's words inside one scope, or, where `namespace` is null, a root with all its
-- users; in no order. `held`, `documents` and `counted` are what the scope tells of them, as in nova_counted, and say
-- where to look; what all scopes that are read tell together weighs what is found. Runs as the owner, because
-- row-level security would keep the GIN index unused; it filters by the project itself. Claims of other sessions are
-- never seen; those not in force at `at` neither, unless it is null. `among` narrows it down to these fragments, `marks`
-- ([[mark, …], …]) to those that carry one of each set; `few` tells how many pass, null for unknown. About `budget`
-- texts are looked at, and more until `enough` were found; in a small scope all that hold a word.
CREATE OR REPLACE FUNCTION nova_keyword_hits(root uuid, namespace uuid, statuses text[], session text, at timestamptz,
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
    -- One round looks at every text that holds a word, where that is no more than is looked at anyway, and in a small
    -- scope of which nobody counted the words.
    is_all boolean := documents <= budget OR NOT counted AND documents < bound;
    -- Literals, so that one partition is planned for.
    seen text := format($f$k.project_id = %L AND k.root_id = %L AND %s AND k.status = ANY ($1)
        AND (k.session_id = '' OR k.session_id = $2)
        AND ($3 IS NULL OR (k.valid_from IS NULL OR k.valid_from <= $3) AND (k.valid_until IS NULL OR k.valid_until > $3))
        $f$, nova_project(), root, CASE WHEN namespace IS NULL THEN 'true' ELSE format('k.namespace_id = %L', namespace) END);
BEGIN
    IF documents = 0 THEN
        RETURN;
    ELSIF NOT is_all THEN
        ground := least(few, CASE WHEN marks IS NULL OR NOT counted THEN documents
            ELSE nova_expected(root, namespace, marks, documents) END);
        -- Among few, a word stands in as much fewer texts.
        held := ARRAY(SELECT greatest(1, ceil(h * ground / greatest(documents, 1))) FROM unnest(held) AS h);
    END IF;
    LOOP
        IF is_all THEN
            wanted := nova_any_of(lexemes);
            expected := documents;
        ELSE
            SELECT q.wanted, least(q.expected, ground) INTO wanted, expected
                FROM nova_candidate_query(lexemes, held, greatest(ground, 1), budget, fewer) AS q;
        END IF;
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
        EXIT WHEN is_all OR together >= enough;
        met := coalesce(met || wanted, wanted);
        fewer := fewer + (budget >= bound)::integer;
        budget := greatest(budget, bound);
    END LOOP;
END $$;
