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
    RETURN ARRAY[E'\x01type ' || f.type, E'\x01source_type ' || f.source_type, E'\x01agent ' || f.agent_id,
            E'\x01tier ' || f.tier, E'\x01importance ' || least(9, floor(f.importance * 10))]
        || CASE WHEN f.outcome <> '' THEN ARRAY[E'\x01outcome ' || f.outcome] END
        || CASE WHEN f.conversation_id <> '' THEN ARRAY[E'\x01conversation_id ' || f.conversation_id] END
        || CASE WHEN f.workflow_id <> '' THEN ARRAY[E'\x01workflow_id ' || f.workflow_id] END
        || ARRAY(SELECT E'\x01tags ' || tag FROM unnest(f.tags) AS tag);

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
        SELECT string_agg('''' || replace(replace(l, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
        FROM unnest(lexemes) AS l
    );

-- One of each set ([[lexeme, …], …]); null for no set.
CREATE FUNCTION nova_all_of(sets jsonb) RETURNS tsquery LANGUAGE sql IMMUTABLE
    RETURN (
        SELECT string_agg(format('(%s)', nova_any_of(ARRAY(SELECT jsonb_array_elements_text(one)))), ' & ')::tsquery
        FROM jsonb_array_elements(sets) AS one
    );

-- What a question asks of a namespace: its lexemes in the namespace's language, each with the number of texts that
-- hold it, null where nobody counted. Of a long question the hundred rarest, among uncounted ones the longest.
CREATE FUNCTION nova_asked(namespace uuid, question text) RETURNS TABLE (lexeme text, documents integer)
LANGUAGE sql STABLE AS $$
    SELECT l.lexeme, d.documents
    FROM memories_namespace n
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector(n.language::regconfig, question))) AS l (lexeme)
    LEFT JOIN memories_documentfrequency d
        ON d.project_id = n.project_id AND d.namespace_id = n.id AND d.lexeme = l.lexeme
    WHERE n.project_id = nova_project() AND n.id = namespace
    ORDER BY d.documents NULLS FIRST, length(l.lexeme) DESC, l.lexeme LIMIT 100;
$$;

-- The texts to look at, and about how many these are (words taken as independent): those that hold a word of the rare
-- ones, which `budget` texts hold together, and those where the rarest of the others meet. Of these so many meet that
-- `budget` texts hold them, less `fewer`: all but the last are the rarest, and the last is any of the next, as far as
-- the budget goes. Where none has to meet, any word will do; null where fewer than none would.
CREATE FUNCTION nova_candidate_query(lexemes text[], documents integer[], total float8, budget integer, fewer integer)
RETURNS TABLE (wanted tsquery, expected float8) LANGUAGE sql IMMUTABLE AS $$
    WITH word AS (
        SELECT nova_any_of(ARRAY[w.lexeme])::text AS word, w.held, sum(w.held) OVER rarest AS together
        FROM unnest(lexemes, documents) AS w (lexeme, held)
        WINDOW rarest AS (ORDER BY w.held, w.lexeme ROWS UNBOUNDED PRECEDING)
    ), common AS (
        -- Logarithms: the shares of many words multiply to less than a number can hold.
        SELECT w.word, w.held, row_number() OVER rarest AS place, sum(ln(least(1, w.held / total))) OVER rarest AS share
        FROM word w WHERE w.together > budget WINDOW rarest AS (ORDER BY w.together ROWS UNBOUNDED PRECEDING)
    ), meeting AS (
        SELECT coalesce(min(c.place) FILTER (WHERE ln(total) + c.share <= ln(budget)), count(*)) - fewer AS words
        FROM common c
    ), base AS (
        SELECT string_agg(c.word, ' & ') AS words, coalesce(exp(max(c.share) FILTER (WHERE c.place = m.words - 1)), 1)
            AS share
        FROM meeting m LEFT JOIN common c ON c.place < m.words
    ), last AS (
        SELECT c.word, c.held, c.place = m.words OR sum(c.held) OVER (ORDER BY c.place) * b.share <= budget AS taken
        FROM common c CROSS JOIN meeting m CROSS JOIN base b WHERE c.place >= m.words
    ), texts AS (
        SELECT w.word, w.held::float8 AS held FROM word w CROSS JOIN meeting m WHERE w.together <= budget OR m.words = 0
        UNION ALL
        SELECT concat_ws(' & ', max(b.words), '(' || string_agg(l.word, ' | ') || ')'), max(b.share) * sum(l.held)
        FROM last l CROSS JOIN base b CROSS JOIN meeting m WHERE l.taken AND m.words > 0 HAVING count(*) > 0
    )
    SELECT string_agg(t.word, ' | ')::tsquery, sum(t.held) FROM texts t CROSS JOIN meeting m WHERE m.words >= 0;
$$;

-- How many of `total` texts of a namespace are likely to carry a mark of each set (the sets taken as independent).
CREATE FUNCTION nova_expected(namespace uuid, marks jsonb, total float8) RETURNS float8 LANGUAGE sql STABLE AS $$
    SELECT total * exp(sum(ln(least(1, sets.held / total)))) FROM (
        SELECT sum(coalesce(
            -- Looked up one by one: nothing tells the planner how few they are.
            (SELECT d.documents FROM memories_documentfrequency d
                WHERE d.project_id = nova_project() AND d.namespace_id = namespace AND d.lexeme = mark), 1)) AS held
        FROM jsonb_array_elements(marks) WITH ORDINALITY AS one (alike, place)
        CROSS JOIN LATERAL jsonb_array_elements_text(one.alike) AS mark
        GROUP BY one.place
    ) AS sets;
$$;

-- Those of a namespace that carry a mark of each set of `marks` ([[mark, …], …]); null when they are more than `most`.
-- Where words are counted, an estimate (the sets taken as independent) saves looking for many.
CREATE FUNCTION nova_passing(namespace uuid, statuses text[], marks jsonb, most integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    total float8;
    found uuid[];
BEGIN
    SELECT s.documents INTO total FROM memories_keywordstatistics s
        WHERE s.project_id = nova_project() AND s.namespace_id = namespace;
    IF total > 0 AND nova_expected(namespace, marks, total) > most THEN
        RETURN NULL;
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

-- BM25 (k1 = .9, b = .4) of a question inside one namespace, in no order. Runs as the owner, because row-level security
-- would keep the GIN index unused; it filters by the project itself. Claims of other sessions are never seen; those
-- not in force at `at` neither, unless it is null. `among` narrows it down to these fragments, `marks` ([[mark, …], …])
-- to those that carry one of each set; `few` tells how many pass, null for unknown. About `budget` texts are looked
-- at, and more until `enough` were found; in a small namespace all that hold a word.
CREATE FUNCTION nova_keyword_hits(namespace uuid, statuses text[], session text, at timestamptz, question text,
    among uuid[], marks jsonb, few integer, budget integer, enough integer, most integer)
RETURNS TABLE (fragment_id uuid, score double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    -- Texts that a round looks at and that are counted where nobody did: beyond, those with the lowest ids, which are
    -- random; the order of the table would tell of other tenants.
    bound constant integer := {BOUND};
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
    SELECT s.documents, s.mean_length, least(few, CASE WHEN marks IS NULL THEN s.documents
            ELSE nova_expected(namespace, marks, s.documents) END)
        INTO total, mean, ground FROM memories_keywordstatistics s
        WHERE s.project_id = nova_project() AND s.namespace_id = namespace;
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
