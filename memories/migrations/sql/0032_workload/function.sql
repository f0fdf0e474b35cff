-- The projects where a worker may find something to do: of one look at all of them, since row-level security would have
-- each asked in turn. May name one too many, never one too few.
CREATE FUNCTION nova_workload(work text, at timestamptz) RETURNS SETOF uuid LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    CASE work
    WHEN 'operations' THEN
        RETURN QUERY SELECT DISTINCT project_id FROM memories_operation WHERE finished_at IS NULL;
    WHEN 'embeddings' THEN
        RETURN QUERY SELECT DISTINCT project_id FROM memories_pendingembedding WHERE not_before <= at;
    WHEN 'exchanges' THEN
        RETURN QUERY SELECT DISTINCT project_id FROM memories_exchange WHERE not_before <= at;
    WHEN 'readings' THEN
        RETURN QUERY SELECT DISTINCT project_id FROM memories_pendingreading;
    WHEN 'proposals' THEN
        RETURN QUERY SELECT DISTINCT project_id FROM memories_proposal;
    WHEN 'connections' THEN
        RETURN QUERY SELECT project_id FROM memories_pendingconnection
            UNION SELECT c.project_id FROM memories_connected c WHERE c.links_moved
                OR c.model_id IS DISTINCT FROM (SELECT m.id FROM memories_embeddingmodel m WHERE m.state = 'active');
    WHEN 'writes' THEN -- what is written is sealed within a minute or so
        RETURN QUERY SELECT p.id FROM memories_project p LEFT JOIN LATERAL (
            SELECT l.upto, l.sealed_at FROM memories_seal l WHERE l.project_id = p.id ORDER BY l.number DESC LIMIT 1
        ) l ON true CROSS JOIN LATERAL (SELECT coalesce(l.upto, '0'::xid8) AS upto) s
        WHERE l.sealed_at > at - interval '10 minutes'
            OR EXISTS (SELECT FROM memories_accountevent e WHERE e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_fragmentevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_claimevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_operationevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_namespaceevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_apikeyevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_grantevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_membershipevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_backupevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_erasureevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM memories_tombstoneevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM conflicts_predicateevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM conflicts_rulingevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)
            OR EXISTS (SELECT FROM conflicts_pendingconflictevent e WHERE e.project_id = p.id AND e.recorded_in >= s.upto);
    END CASE;
END $$;
REVOKE EXECUTE ON FUNCTION nova_workload FROM PUBLIC;
GRANT EXECUTE ON FUNCTION nova_workload TO nova_app;
