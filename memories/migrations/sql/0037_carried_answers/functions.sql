-- In how many answers each group of memories was handed out, to how many agents, and when last, as far as receipts are
-- kept. Runs as the owner, because row-level security would keep the GIN index unused; it filters by the project itself.
CREATE OR REPLACE FUNCTION nova_carried(fragments uuid[], places integer[])
RETURNS TABLE (place integer, answers bigint, agents bigint, last_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    SELECT g.place, count(DISTINCT r.id), count(DISTINCT coalesce(k.owner_id, r.key_id)), max(r.created_at)
    FROM memories_receipt r
    CROSS JOIN LATERAL unnest(r.fragment_ids) AS f (id)
    JOIN unnest(fragments, places) AS g (fragment, place) ON g.fragment = f.id
    LEFT JOIN memories_apikey k ON k.project_id = r.project_id AND k.id = r.key_id
    WHERE r.project_id = nova_project() AND r.fragment_ids && fragments
    GROUP BY g.place;
$$;
REVOKE EXECUTE ON FUNCTION nova_carried FROM PUBLIC;
GRANT EXECUTE ON FUNCTION nova_carried TO nova_app;
