REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON memories_accountevent FROM nova_app;

CREATE FUNCTION nova_credentials_digest(a auth_user) RETURNS bytea LANGUAGE sql STABLE AS $$
    SELECT sha256(convert_to(jsonb_build_array(a.username, a.password)::text, 'UTF8'))
$$;
CREATE FUNCTION nova_account_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    a auth_user := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO memories_accountevent (pgh_created_at, pgh_label, pgh_obj_id, pgh_context,
        is_superuser, is_staff, is_active, credentials_changed, credentials_digest)
    VALUES (now(), lower(TG_OP), a.id, NULLIF(current_setting('pghistory.context_metadata', true), '')::jsonb,
        a.is_superuser, a.is_staff, a.is_active,
        TG_OP = 'UPDATE' AND nova_credentials_digest(a) <> nova_credentials_digest(OLD), nova_credentials_digest(a));
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION nova_account_event FROM PUBLIC;
CREATE TRIGGER account_event_made AFTER INSERT OR DELETE ON auth_user
    FOR EACH ROW EXECUTE FUNCTION nova_account_event();
CREATE TRIGGER account_event_changed AFTER UPDATE ON auth_user FOR EACH ROW
    WHEN ((OLD.is_superuser, OLD.is_staff, OLD.is_active, OLD.username, OLD.password)
        IS DISTINCT FROM (NEW.is_superuser, NEW.is_staff, NEW.is_active, NEW.username, NEW.password))
    EXECUTE FUNCTION nova_account_event();

-- Accounts of before: what they are at the upgrade is what later changes are held against.
INSERT INTO memories_accountevent (pgh_created_at, pgh_label, pgh_obj_id, pgh_context,
    is_superuser, is_staff, is_active, credentials_changed, credentials_digest)
SELECT now(), 'insert', a.id, '{"kind": "system", "why": "upgrade"}',
    a.is_superuser, a.is_staff, a.is_active, false, nova_credentials_digest(a) FROM auth_user a;
