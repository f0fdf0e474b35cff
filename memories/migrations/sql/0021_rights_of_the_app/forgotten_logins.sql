CREATE FUNCTION nova_forget_logins(before timestamptz) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM memories_loginevent WHERE at < least(before, now() - interval '30 days') RETURNING 1)
    SELECT count(*) FROM gone;
$$;
REVOKE EXECUTE ON FUNCTION nova_forget_logins FROM PUBLIC;
GRANT EXECUTE ON FUNCTION nova_forget_logins TO nova_app;
