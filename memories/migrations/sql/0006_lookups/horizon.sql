-- Transactions below this id are over: nothing of them can still appear. Those of other databases, which the
-- cluster's snapshots count too, touch nothing here; whose database is not known is taken for one of this. A snapshot
-- leaves out the transaction that asks, which is not over either.
CREATE FUNCTION nova_horizon() RETURNS xid8 LANGUAGE sql STABLE
    RETURN (
        SELECT least(coalesce(min(running), pg_snapshot_xmax(pg_current_snapshot())),
            pg_current_xact_id_if_assigned())
        FROM pg_snapshot_xip(pg_current_snapshot()) AS running
        WHERE NOT EXISTS (
            SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
            WHERE l.locktype = 'transactionid' AND l.transactionid = running::xid AND l.mode = 'ExclusiveLock'
                AND l.granted AND a.datname <> current_database()));
