"""Questions and requests to the database for which one function stands."""

from django.db import migrations

HORIZON = """
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
"""
UNDO_HORIZON = "DROP FUNCTION nova_horizon;"

KEY_LOOKUP = """
    -- A key is looked up before its project is known, so this one runs as the owner; it needs the exact id.
    CREATE FUNCTION nova_find_key(wanted text)
    RETURNS TABLE (id uuid, digest bytea, project_id uuid, project_name text, owner_id uuid, owner_name text,
        grant_id uuid, namespaces text[], verbs text[], ceiling text, may_attest_user boolean, requests_per_minute integer,
        expires_at timestamptz, revoked_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT k.id, k.digest, k.project_id, p.name, k.owner_id, o.name, g.id, g.namespaces, g.verbs, g.ceiling,
            g.may_attest_user, g.requests_per_minute, k.expires_at, k.revoked_at
        FROM memories_apikey k
        JOIN memories_project p ON p.id = k.project_id
        JOIN memories_owner o ON o.project_id = k.project_id AND o.id = k.owner_id
        JOIN memories_grant g ON g.project_id = k.project_id AND g.id = k.grant_id
        WHERE k.key_id = wanted;
    $$;
"""
UNDO_KEY_LOOKUP = "DROP FUNCTION nova_find_key;"

ANALYZE = """
    -- Tells the planner of memories written in a transaction that is still open: autovacuum does not see them, and takes
    -- the table for empty. Runs as the owner, because nobody else may before Postgres 17. Waits as long as autovacuum takes
    -- to give way; false where somebody else holds the table.
    CREATE FUNCTION nova_analyze_fragments() RETURNS boolean LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
    BEGIN
        ANALYZE memories_fragment;
        RETURN true;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        RETURN false;
    END $$;
"""
UNDO_ANALYZE = "DROP FUNCTION nova_analyze_fragments;"


class Migration(migrations.Migration):
    """Which transactions are over; whose key it is; how many memories there are, for the planner."""

    dependencies = [("memories", "0005_runs")]

    operations = [
        migrations.RunSQL(HORIZON, UNDO_HORIZON),
        migrations.RunSQL(KEY_LOOKUP, UNDO_KEY_LOOKUP),
        migrations.RunSQL(ANALYZE, UNDO_ANALYZE),
    ]
