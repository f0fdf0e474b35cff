-- Keyed by the project's salt; the same for texts that differ in case, width or spacing only. Without signs beyond ASCII
-- nothing has another width: normalizing was half of the digest's time.
CREATE OR REPLACE FUNCTION nova_keyed(salt bytea, content text) RETURNS bytea LANGUAGE sql STABLE
    RETURN sha256(salt || convert_to(lower(regexp_replace(
        CASE WHEN octet_length(content) = length(content) THEN btrim(content) ELSE normalize(btrim(content), NFKC) END,
        '\s+', ' ', 'g')), 'UTF8') || salt);

-- As before, of the columns alone that indexes are about: the wide ones took most of the time. Autovacuum, which such a
-- count does not hold back, looks at all of them later.
CREATE OR REPLACE FUNCTION nova_analyze_fragments() RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
BEGIN
    ANALYZE memories_fragment (project_id, id, namespace_id, status, type, tier, created_at, key, source_id,
        conversation_id, sequence, event_at, superseded_by_id);
    RETURN true;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    RETURN false;
END $$;
