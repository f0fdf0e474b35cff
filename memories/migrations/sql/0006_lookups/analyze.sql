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
