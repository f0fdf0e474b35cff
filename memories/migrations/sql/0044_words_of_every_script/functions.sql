-- A text as its words are looked for: wide and joined letters as plain ones, digits of other scripts as 0 to 9, "ß" as "ss".
-- LETTERS, of scripts that put no space between words, are read as pairs that follow each other; one alone is a word.
CREATE FUNCTION nova_spaced(content text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN octet_length(content) = length(content) THEN content ELSE (
        SELECT CASE WHEN plain !~ '[LETTERS]' THEN plain ELSE concat_ws(' ',
            regexp_replace(plain, '(?<![LETTERS])([LETTERS])(?![LETTERS])|([LETTERS])([LETTERS])|[LETTERS]', ' \1\2\3 ', 'g'),
            -- The pairs between: of each run without its first letter.
            regexp_replace(regexp_replace(regexp_replace(plain, '(?<![LETTERS])[LETTERS]', ' ', 'g'), '[^LETTERS]+', ' ', 'g'),
                '([LETTERS])([LETTERS])|[LETTERS]', ' \1\2 ', 'g')) END
        FROM (SELECT replace(translate(normalize(content, NFKC), '٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹०१२३४५६७८९০১২৩৪৫৬৭৮৯๐๑๒๓๔๕๖๗๘๙',
            '01234567890123456789012345678901234567890123456789'), 'ß', 'ss') AS plain OFFSET 0) AS p) END;

-- As before, of such words.
CREATE OR REPLACE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
    WITH named AS MATERIALIZED (
        SELECT DISTINCT f.namespace_id FROM memories_fragment f
        WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
    ), roots AS MATERIALIZED (
        -- OFFSET 0, and no join: or the planner begins with all users of the project.
        SELECT n.namespace_id, r.id, r.language::regconfig AS language FROM named n
        CROSS JOIN LATERAL (
            SELECT r.id, r.language FROM memories_namespace r WHERE r.id = nova_root(n.namespace_id) OFFSET 0
        ) AS r
    )
    INSERT INTO memories_keywords AS k (project_id, root_id, namespace_id, fragment_id, status, session_id, valid_from,
        valid_until, words, length)
    SELECT f.project_id, r.id, f.namespace_id, f.id, f.status, c.session_id, c.valid_from, c.valid_until,
        w.words || array_to_tsvector(ARRAY[E'\x01type ' || f.type, E'\x01source_type ' || f.source_type,
            E'\x01agent ' || f.agent_id, E'\x01tier ' || f.tier, E'\x01importance ' || least(9, floor(f.importance * 10))]
        || CASE WHEN f.outcome <> '' THEN ARRAY[E'\x01outcome ' || f.outcome] END
        || CASE WHEN f.conversation_id <> '' THEN ARRAY[E'\x01conversation_id ' || f.conversation_id] END
        || CASE WHEN f.workflow_id <> '' THEN ARRAY[E'\x01workflow_id ' || f.workflow_id] END
        || ARRAY(SELECT E'\x01tags ' || tag FROM unnest(f.tags) AS tag)),
        (SELECT coalesce(sum(cardinality(x.positions)), 0) FROM unnest(w.words) AS x)
    FROM memories_fragment f
    JOIN roots AS r ON r.namespace_id = f.namespace_id
    CROSS JOIN LATERAL nova_reach(f.project_id, f.id) AS c
    -- Worked out once, not once for each use.
    CROSS JOIN LATERAL (SELECT to_tsvector(r.language, nova_spaced(f.content)) AS words OFFSET 0) AS w
    WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
    ON CONFLICT (project_id, root_id, namespace_id, fragment_id)
    DO UPDATE SET words = excluded.words, length = excluded.length, status = excluded.status,
        session_id = excluded.session_id, valid_from = excluded.valid_from, valid_until = excluded.valid_until;
$$;

CREATE OR REPLACE FUNCTION nova_asked(root uuid, namespace uuid, question text) RETURNS TABLE (lexeme text, documents integer)
LANGUAGE sql STABLE AS $$
    SELECT l.lexeme, d.documents
    FROM memories_namespace n
    CROSS JOIN LATERAL unnest(tsvector_to_array(to_tsvector(n.language::regconfig, nova_spaced(question)))) AS l (lexeme)
    LEFT JOIN memories_documentfrequency d
        ON d.project_id = n.project_id AND d.namespace_id = coalesce(namespace, root)
            AND d.all_users = (namespace IS NULL) AND d.lexeme = l.lexeme
    WHERE n.project_id = nova_project() AND n.id = root
    ORDER BY d.documents NULLS FIRST, length(l.lexeme) DESC, l.lexeme LIMIT 100;
$$;
