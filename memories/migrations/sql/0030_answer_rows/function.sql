-- What answers show of fragments, in the order of their ids: the fragment, its project, namespace and use, its claims, and
-- what stands beside it. `linked` is [[id of the other, kind, similarity]], `replaced` the ids of what it supersedes,
-- `waiting_for` the ids of the models that have not embedded it yet, `contested` [[id of the other, this one's part]],
-- `doubted` [[status, words]] of the claims that do not stand while it does.
-- A function, because its plan is kept: Postgres planned three times as long as it ran.
CREATE FUNCTION nova_answer_rows(of_project uuid, ids uuid[]) RETURNS TABLE (
    fragment memories_fragment, project memories_project, namespace memories_namespace, access memories_access,
    claims jsonb, linked jsonb, replaced jsonb, waiting_for jsonb, contested jsonb, doubted jsonb
) LANGUAGE plpgsql STABLE ROWS 20 AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT f, p, n, a,
        (SELECT coalesce(jsonb_agg(to_jsonb(c)
                - '{subject_digest,predicate_digest,key_digest,value_digest,validity}'::text[]
                ORDER BY c.position), '[]')
            FROM memories_claim c WHERE c.project_id = f.project_id
                AND c.fragment_id = f.id),
        -- A similar link joins active fragments only; until upkeep has taken it away it is not shown.
        (SELECT coalesce(jsonb_agg(jsonb_build_array(l.other_id, l.kind, l.similarity)
                ORDER BY l.kind, l.similarity DESC, l.other_id), '[]')
            FROM memories_link l
            WHERE l.project_id = f.project_id AND l.fragment_id = f.id
                AND (l.kind <> 'similar' OR f.status = 'active' AND EXISTS (
                    SELECT FROM memories_fragment o
                    WHERE o.project_id = l.project_id AND o.id = l.other_id AND o.status = 'active'))),
        (SELECT coalesce(jsonb_agg(o.id ORDER BY o.id), '[]') FROM memories_fragment o
            WHERE o.project_id = f.project_id AND o.superseded_by_id = f.id),
        (SELECT coalesce(jsonb_agg(p.model_id), '[]') FROM memories_pendingembedding p
            WHERE p.project_id = f.project_id AND p.fragment_id = f.id),
        -- The user's words stand against what a person ruled, until somebody decides: each side says so.
        (SELECT coalesce(jsonb_agg(jsonb_build_array(x.id, x.part) ORDER BY x.id), '[]') FROM (
                SELECT p.existing_id AS id, 'user' AS part FROM conflicts_pendingconflict p
                WHERE p.project_id = f.project_id AND p.newcomer_id = f.id
                    AND p.resolved_at IS NULL AND p.existing_id IS NOT NULL AND (
                        p.kind = 'text' AND f.status IN ('active', 'disputed')
                        OR p.kind = 'claim' AND EXISTS (SELECT FROM memories_claim c WHERE c.project_id = p.project_id
                            AND c.id = p.newcomer_claim AND c.status IN ('active', 'disputed')))
                UNION ALL SELECT p.newcomer_id, 'ruling' FROM conflicts_pendingconflict p
                WHERE p.project_id = f.project_id AND p.existing_id = f.id
                    AND p.resolved_at IS NULL AND (
                        p.kind = 'text' AND EXISTS (SELECT FROM memories_fragment n WHERE n.project_id = p.project_id
                            AND n.id = p.newcomer_id AND n.status IN ('active', 'disputed'))
                        OR p.kind = 'claim' AND EXISTS (SELECT FROM memories_claim n WHERE n.project_id = p.project_id
                            AND n.id = p.newcomer_claim AND n.status IN ('active', 'disputed')))) AS x),
        -- What a memory that stands says and nobody believes by now; not what another only says on more authority.
        (SELECT coalesce(jsonb_agg(jsonb_build_array(c.status, CASE WHEN c.span_start IS NULL
                    THEN concat_ws(' ', c.subject, c.predicate, c.value)
                    ELSE substr(f.content, c.span_start + 1, c.span_end - c.span_start) END)
                ORDER BY c.position), '[]') FROM memories_claim c
            WHERE c.project_id = f.project_id AND c.fragment_id = f.id AND c.verdict <> ''
                AND f.status IN ('active', 'disputed') AND NOT EXISTS (SELECT FROM memories_claim w
                    WHERE w.project_id = c.project_id AND w.fragment_id = c.superseded_by_id
                        AND w.status IN ('active', 'disputed')
                        AND (w.key_digest, w.value_digest) = (c.key_digest, c.value_digest)))
    FROM unnest(ids) WITH ORDINALITY AS i (id, place)
    JOIN memories_fragment f ON f.project_id = of_project AND f.id = i.id
    JOIN memories_project p ON p.id = f.project_id
    JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
    LEFT JOIN memories_access a ON a.project_id = f.project_id AND a.fragment_id = f.id
    ORDER BY i.place;
END $$;
