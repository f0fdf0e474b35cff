-- A notice for each receipt that carried one of these memories, or of their claims; never the same reason twice in a
-- row, and that it stands again only where something else was said before. As the owner, because row-level security
-- would keep the GIN index unused; it filters by the project itself.
CREATE FUNCTION nova_tell_receipts(project uuid, fragments uuid[], claims uuid[], reasons text[], successors uuid[])
RETURNS void LANGUAGE sql SET search_path = pg_catalog, public, pg_temp
-- One memory may stand in many thousands of answers, of which the statistics know nothing yet.
SET enable_nestloop = off AS $$
    WITH told AS MATERIALIZED (
        SELECT r.id, r.namespace_id, r.key_id, r.created_at, n.*
        FROM memories_receipt r
        CROSS JOIN LATERAL unnest(r.fragment_ids) AS f (id)
        JOIN unnest(fragments, claims, reasons, successors) AS n (fragment, claim, reason, successor)
            ON n.fragment = f.id
        WHERE r.project_id = project AND r.fragment_ids && fragments
    ), former AS MATERIALIZED (
        SELECT DISTINCT ON (o.receipt_id, o.fragment_id, o.claim_id) o.receipt_id, o.fragment_id, o.claim_id, o.reason
        FROM memories_recallnotice o WHERE o.project_id = project AND o.fragment_id = ANY (fragments)
        ORDER BY o.receipt_id, o.fragment_id, o.claim_id, o.number DESC
    )
    INSERT INTO memories_recallnotice (id, project_id, namespace_id, receipt_id, fragment_id, claim_id, reason,
        superseded_by, key_id, told_at, created_at)
    SELECT gen_random_uuid(), project, t.namespace_id, t.id, t.fragment, t.claim, t.reason, t.successor, t.key_id,
        t.created_at, clock_timestamp()
    FROM told t
    LEFT JOIN former o ON o.receipt_id = t.id AND o.fragment_id = t.fragment AND o.claim_id IS NOT DISTINCT FROM t.claim
    WHERE o.reason IS DISTINCT FROM t.reason AND (t.reason <> 'restored' OR o.reason IS NOT NULL);
$$;

-- What a change of status tells who was told of it; null: nothing. What upkeep puts away is no news.
CREATE FUNCTION nova_notice_reason(former text, status text, archived_reason text) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN CASE
        WHEN status = former THEN NULL
        WHEN status = 'active' THEN 'restored'
        WHEN status = 'disputed' THEN 'disputed'
        WHEN archived_reason = 'contained' THEN 'contained'
        WHEN former NOT IN ('active', 'disputed') THEN NULL
        WHEN status = 'superseded' THEN 'superseded'
        WHEN status = 'quarantined' OR archived_reason
            IN ('by_hand', 'by_person', 'rejected', 'edited', 'precedent_rejected', 'undone', 'rolled_back')
            THEN 'ruled_out'
    END;

CREATE FUNCTION nova_fragment_notices() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM nova_tell_receipts(c.project_id, array_agg(c.id), array_agg(NULL::uuid), array_agg(c.reason),
            array_agg(CASE c.reason WHEN 'superseded' THEN c.superseded_by_id END))
        FROM (
            SELECT a.*, nova_notice_reason(b.status, a.status, a.archived_reason) AS reason
            FROM after a JOIN before b ON b.id = a.id WHERE b.status <> a.status
        ) AS c
        WHERE c.reason IS NOT NULL GROUP BY c.project_id;
    RETURN NULL;
END $$;
CREATE TRIGGER fragment_notices AFTER UPDATE ON memories_fragment
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION nova_fragment_notices();

-- Of several claims one may fall while the memory stands.
CREATE FUNCTION nova_claim_notices() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    PERFORM nova_tell_receipts(c.project_id, array_agg(c.fragment_id), array_agg(c.id), array_agg(c.reason),
            array_agg(CASE c.reason WHEN 'superseded' THEN c.superseded_by_id END))
        FROM (
            -- First what changed: most updates of many claims change no status.
            WITH changed AS MATERIALIZED (
                SELECT a.*, nova_notice_reason(b.status, a.status, 'rejected') AS reason
                FROM after a JOIN before b ON b.id = a.id WHERE b.status <> a.status
            )
            SELECT k.* FROM changed k
            JOIN memories_fragment f ON f.project_id = k.project_id AND f.id = k.fragment_id
            WHERE k.reason IN ('superseded', 'ruled_out', 'restored') AND f.status IN ('active', 'disputed')
        ) AS c
        GROUP BY c.project_id;
    RETURN NULL;
END $$;
CREATE TRIGGER claim_notices AFTER UPDATE ON memories_claim
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION nova_claim_notices();

REVOKE EXECUTE ON FUNCTION nova_tell_receipts, nova_fragment_notices, nova_claim_notices FROM PUBLIC;
