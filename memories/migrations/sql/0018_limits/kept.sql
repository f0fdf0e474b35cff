REVOKE UPDATE, DELETE ON memories_loginevent FROM nova_app;
GRANT UPDATE (outcome) ON memories_loginevent TO nova_app;
CREATE FUNCTION nova_login_succeeds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF OLD.outcome <> 'failure' OR NEW.outcome <> 'success' THEN
        RAISE EXCEPTION 'a login only goes from failure to success' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER login_succeeds BEFORE UPDATE ON memories_loginevent FOR EACH ROW EXECUTE FUNCTION nova_login_succeeds();
