CREATE FUNCTION nova_words_prints(project uuid, content text, extra jsonb) RETURNS bytea[] LANGUAGE sql STABLE AS $$
    SELECT nova_fingerprints(project, content) || CASE WHEN extra ?| ARRAY['trigger', 'steps'] THEN
        coalesce((SELECT array_agg(p.print) FROM (
            SELECT extra ->> 'trigger' AS word UNION ALL
            SELECT s.step #>> '{}' FROM jsonb_array_elements(
                CASE jsonb_typeof(extra -> 'steps') WHEN 'array' THEN extra -> 'steps' ELSE '[]' END) AS s (step)
        ) AS w CROSS JOIN LATERAL unnest(nova_fingerprints(project, w.word)) AS p (print)
        WHERE w.word <> ''), '{}') ELSE '{}' END
$$;
