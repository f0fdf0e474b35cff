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
