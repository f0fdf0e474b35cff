CREATE FUNCTION nova_rule_on_former_decisions(project uuid, places uuid[], newest bytea[]) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    made integer;
BEGIN
    CREATE TEMP TABLE former_decision ON COMMIT DROP AS
    SELECT DISTINCT ON (c.namespace_id, c.key_digest, c.resolved_at)
        c.*, n.value_digest AS said, n.valid_from, n.valid_until, f.status AS newcomer_status,
        e.value_digest AS held, g.status AS existing_status, f.superseded_by_id AS successor_id,
        CASE WHEN o.name LIKE 'user:%' THEN 6 ELSE greatest(1, least(6, coalesce(c.new_authority, 1))) END AS rank,
        coalesce((c.statement ->> 'negated')::boolean, false) AS negated
    FROM conflicts_pendingconflict c
    LEFT JOIN memories_owner o ON o.project_id = c.project_id AND o.id = c.resolved_by
    LEFT JOIN memories_fragment f ON f.project_id = c.project_id AND f.id = c.newcomer_id
    LEFT JOIN memories_fragment g ON g.project_id = c.project_id AND g.id = c.existing_id
    LEFT JOIN memories_claim n ON n.project_id = c.project_id AND n.fragment_id = c.newcomer_id
        AND n.key_digest = c.key_digest
    LEFT JOIN memories_claim e ON e.project_id = c.project_id AND e.fragment_id = c.existing_id
        AND e.key_digest = c.key_digest
    WHERE c.project_id = project AND (places IS NULL OR c.namespace_id = ANY (places))
        AND c.kind IN ('claim', 'text') AND c.resolution IN ('supersede', 'reject', 'keep_both')
        AND length(c.key_digest) > 0
        AND NOT EXISTS (SELECT FROM conflicts_ruling r WHERE r.project_id = c.project_id
            AND r.namespace_id = c.namespace_id AND r.key_digest = c.key_digest AND r.decided_at = c.resolved_at)
        AND NOT coalesce((SELECT to_jsonb(p) ->> 'newer_wins' = 'true' OR to_jsonb(p) ->> 'policy' = 'newest'
            FROM conflicts_predicate p WHERE p.project_id = c.project_id AND p.namespace_id = c.namespace_id
                AND p.spelling_digest = c.predicate_digest), c.predicate_digest = ANY (newest))
    ORDER BY c.namespace_id, c.key_digest, c.resolved_at, c.before ? 'settled_with', c.id;

    INSERT INTO conflicts_ruling (id, project_id, namespace_id, conflict_id, fragment_id, subject_digest,
        predicate_digest, key_digest, scope, session_id, valid_from, valid_until, chosen, ruled_out,
        chosen_fragments, ruled_out_fragments, authority, decided_by, decided_at, note, edited, repeats)
    SELECT gen_random_uuid(), d.project_id, d.namespace_id, d.id,
        CASE WHEN d.kind = 'text' THEN d.newcomer_id END, d.subject_digest, d.predicate_digest, d.key_digest,
        d.scope, d.session_id, d.valid_from, d.valid_until,
        CASE WHEN d.resolution = 'reject' THEN '{}' ELSE array_remove(ARRAY[
            CASE WHEN NOT d.negated THEN encode(coalesce(d.said, d.value_digest), 'hex') END,
            CASE WHEN d.resolution = 'keep_both' AND d.existing_status IN ('active', 'disputed')
                THEN encode(d.held, 'hex') END], NULL) END,
        CASE WHEN d.resolution = 'reject' AND NOT d.negated THEN ARRAY[encode(d.value_digest, 'hex')]
            WHEN d.resolution = 'supersede' THEN ARRAY(
                SELECT DISTINCT encode(c.value_digest, 'hex') FROM memories_claim c
                JOIN memories_fragment f ON f.project_id = c.project_id AND f.id = c.fragment_id
                WHERE c.project_id = d.project_id AND f.superseded_by_id = d.newcomer_id
                    AND c.key_digest = d.key_digest AND c.value_digest IS DISTINCT FROM d.said)
            ELSE '{}' END,
        CASE WHEN d.resolution = 'reject' OR d.newcomer_id IS NULL THEN '{}' ELSE ARRAY[d.newcomer_id] END,
        CASE WHEN d.resolution = 'reject' AND d.newcomer_id IS NOT NULL THEN ARRAY[d.newcomer_id]
            WHEN d.resolution = 'supersede' THEN ARRAY(SELECT f.id FROM memories_fragment f
                WHERE f.project_id = d.project_id AND f.superseded_by_id = d.newcomer_id ORDER BY f.id)
            ELSE '{}' END,
        d.rank, d.resolved_by, d.resolved_at, d.note, false, 0
    FROM former_decision d
    WHERE d.resolution = 'reject' OR d.newcomer_status IN ('active', 'disputed');
    GET DIAGNOSTICS made = ROW_COUNT;

    INSERT INTO conflicts_pendingconflict (id, project_id, namespace_id, kind, reason, newcomer_id, existing_id,
        subject_digest, predicate_digest, key_digest, value_digest, scope, session_id, new_authority,
        existing_authority, revision, created_at, resolution, keep, note)
    SELECT DISTINCT ON (d.newcomer_id, s.fragment_id) gen_random_uuid(), d.project_id, d.namespace_id, 'claim',
        'authority_insufficient', d.newcomer_id, s.fragment_id, d.subject_digest, d.predicate_digest, d.key_digest,
        d.said, d.scope, d.session_id, d.new_authority, s.authority, 1, now(), '', '', ''
    FROM former_decision d
    JOIN memories_claim s ON s.project_id = d.project_id AND s.namespace_id = d.namespace_id
        AND s.key_digest = d.key_digest AND s.session_id = d.session_id
        AND s.status IN ('active', 'disputed') AND s.exclusive AND s.value_digest <> d.said
    WHERE d.kind = 'claim' AND d.resolution <> 'reject' AND d.newcomer_status = 'superseded'
        AND NOT EXISTS (SELECT FROM conflicts_pendingconflict c WHERE c.project_id = d.project_id
            AND c.namespace_id = d.namespace_id AND c.key_digest = d.key_digest
            AND (c.newcomer_id = d.newcomer_id AND c.existing_id = s.fragment_id
                OR c.resolved_at > d.resolved_at AND c.resolution IN ('supersede', 'keep_both')));
    DROP TABLE former_decision;
    RETURN made;
END $$;
