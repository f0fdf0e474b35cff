CREATE OR REPLACE FUNCTION nova_fragment_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    root uuid := nova_root(NEW.namespace_id);
BEGIN
    UPDATE memories_keywords SET status = NEW.status
        WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    UPDATE memories_embedding SET status = NEW.status
        WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    UPDATE memories_claim SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    UPDATE memories_mention SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    UPDATE memories_relation SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION nova_fragment_marks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    root uuid := nova_root(NEW.namespace_id);
BEGIN
    UPDATE memories_keywords SET words = ts_delete(words, nova_marks(OLD)) || array_to_tsvector(nova_marks(NEW))
        WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    IF (NEW.tier = 'cold') IS DISTINCT FROM (OLD.tier = 'cold') THEN
        UPDATE memories_embedding SET cold = NEW.tier = 'cold'
            WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION nova_claim_reach() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c memories_claim := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    root uuid := nova_root(c.namespace_id);
    gone boolean := TG_OP = 'DELETE';
BEGIN
    UPDATE memories_keywords SET session_id = CASE WHEN gone THEN '' ELSE c.session_id END,
        valid_from = CASE WHEN gone THEN NULL ELSE c.valid_from END,
        valid_until = CASE WHEN gone THEN NULL ELSE c.valid_until END
        WHERE project_id = c.project_id AND root_id = root AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
    UPDATE memories_embedding SET session_id = CASE WHEN gone THEN '' ELSE c.session_id END,
        valid_from = CASE WHEN gone THEN NULL ELSE c.valid_from END,
        valid_until = CASE WHEN gone THEN NULL ELSE c.valid_until END
        WHERE project_id = c.project_id AND root_id = root AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
    UPDATE memories_mention SET session_id = CASE WHEN gone THEN '' ELSE c.session_id END,
        valid_from = CASE WHEN gone THEN NULL ELSE c.valid_from END,
        valid_until = CASE WHEN gone THEN NULL ELSE c.valid_until END
        WHERE project_id = c.project_id AND fragment_id = c.fragment_id;
    UPDATE memories_relation SET session_id = CASE WHEN gone THEN '' ELSE c.session_id END,
        valid_from = CASE WHEN gone THEN NULL ELSE c.valid_from END,
        valid_until = CASE WHEN gone THEN NULL ELSE c.valid_until END
        WHERE project_id = c.project_id AND fragment_id = c.fragment_id;
    RETURN NULL;
END $$;
