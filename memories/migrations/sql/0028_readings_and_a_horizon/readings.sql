-- How the whole installation stands, in numbers: no name of a project, no text. Whoever reads /metrics asks no project in
-- turn. Sizes of tables are the planner's estimates, with their partitions.
CREATE FUNCTION nova_readings() RETURNS TABLE (name text, label text, value double precision) LANGUAGE plpgsql STABLE
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT 'operations', s.state, count(o.id)::float
        FROM unnest(ARRAY['queued', 'running']) AS s (state)
        LEFT JOIN memories_operation o ON o.finished_at IS NULL AND o.state = s.state GROUP BY s.state;
    RETURN QUERY SELECT 'operations_ended_day', s.state, count(o.id)::float
        FROM unnest(ARRAY['succeeded', 'failed', 'cancelled']) AS s (state)
        LEFT JOIN memories_operation o ON o.state = s.state AND o.finished_at > statement_timestamp() - interval '1 day' GROUP BY s.state;
    RETURN QUERY SELECT 'operation_wait_seconds', '', coalesce(extract(epoch FROM statement_timestamp() - min(o.created_at)), 0)::float
        FROM memories_operation o WHERE o.finished_at IS NULL AND o.state = 'queued';
    RETURN QUERY SELECT 'conflicts_waiting', '', count(*)::float
        FROM conflicts_pendingconflict c WHERE c.resolved_at IS NULL;
    RETURN QUERY SELECT 'proposals_waiting', '', count(*)::float FROM memories_proposal p WHERE p.waiting;
    RETURN QUERY SELECT 'vectors_pending', '', count(*)::float FROM memories_pendingembedding;
    RETURN QUERY SELECT 'connections_pending', '', count(*)::float FROM memories_pendingconnection;
    RETURN QUERY SELECT 'exchanges_pending', '', count(*)::float FROM memories_exchange;
    RETURN QUERY SELECT 'heartbeat_age_seconds', h.part::text, extract(epoch FROM statement_timestamp() - h.at)::float
        FROM memories_heartbeat h;
    RETURN QUERY SELECT 'seal_age_seconds', '', extract(epoch FROM statement_timestamp() - max(s.sealed_at))::float
        FROM memories_seal s HAVING count(*) > 0;
    RETURN QUERY SELECT 'backup_age_seconds', '', extract(epoch FROM statement_timestamp() - min(b.at))::float
        FROM (SELECT max(exported_at) AS at FROM memories_backup GROUP BY project_id) b HAVING min(b.at) IS NOT NULL;
    RETURN QUERY SELECT 'drill_age_seconds', '', extract(epoch FROM statement_timestamp() - min(b.at))::float
        FROM (SELECT max(drilled_at) AS at FROM memories_backup WHERE drill_verdict = 'sound' GROUP BY project_id) b
        HAVING min(b.at) IS NOT NULL;
    RETURN QUERY SELECT 'projects', '', count(*)::float FROM memories_project;
    RETURN QUERY SELECT 'projects_without_backup', '', count(*)::float FROM memories_project p
        WHERE p.created_at < statement_timestamp() - interval '1 day'
            AND NOT EXISTS (SELECT FROM memories_backup b WHERE b.project_id = p.id AND b.exported_at IS NOT NULL);
    RETURN QUERY SELECT 'projects_without_drill', '', count(*)::float FROM memories_project p
        WHERE p.created_at < statement_timestamp() - interval '1 day'
            AND NOT EXISTS (SELECT FROM memories_backup b WHERE b.project_id = p.id AND b.drill_verdict = 'sound');
    RETURN QUERY SELECT 'backup_bytes', '', coalesce(sum(b.size), 0)::float FROM memories_backup b;
    IF to_regclass('pgmq.q_celery') IS NOT NULL THEN
        RETURN QUERY EXECUTE $q$SELECT 'queue_messages', '', count(*)::float FROM pgmq.q_celery
            UNION ALL SELECT 'queue_age_seconds', '', coalesce(extract(epoch FROM clock_timestamp() - min(enqueued_at)), 0)::float
                FROM pgmq.q_celery WHERE vt <= clock_timestamp()$q$;
    END IF;
    RETURN QUERY SELECT 'database_bytes', '', pg_database_size(current_database())::float;
    RETURN QUERY SELECT 'wal_bytes', '', pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float
        WHERE NOT pg_is_in_recovery();
    RETURN QUERY SELECT 'database_connections', '', count(*)::float FROM pg_stat_activity WHERE datname IS NOT NULL;
    RETURN QUERY SELECT 'database_connections_most', '', current_setting('max_connections')::float;
    RETURN QUERY WITH t AS (
        SELECT coalesce(i.inhparent, c.oid) AS root, c.oid, greatest(c.reltuples, 0) AS estimate, s.n_live_tup AS alive
        FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
    ), sums AS (
        SELECT root::regclass::text AS at, sum(CASE WHEN alive > 0 THEN alive ELSE estimate END)::float AS its_rows,
            sum(pg_total_relation_size(t.oid))::float AS octets
        FROM t WHERE NOT EXISTS (SELECT FROM pg_partitioned_table p WHERE p.partrelid = t.oid) GROUP BY root
    )
    SELECT 'table_rows', at, its_rows FROM sums UNION ALL SELECT 'table_bytes', at, octets FROM sums;
END $$;
REVOKE EXECUTE ON FUNCTION nova_readings FROM PUBLIC;
GRANT EXECUTE ON FUNCTION nova_readings TO nova_app;
