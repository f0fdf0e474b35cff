-- What has changed is connected anew. Markers are only appended, so that no writer waits for another here.
CREATE FUNCTION nova_connect_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memories_pendingconnection (project_id, namespace_id, fragment_id)
        SELECT n.project_id, n.namespace_id, n.id FROM new_rows n;
    RETURN NULL;
END $$;
CREATE TRIGGER fragment_connect_new AFTER INSERT ON memories_fragment REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION nova_connect_new();

-- A vector that comes with its text, in one transaction, is marked with it. Asked row by row through the primary key, as
-- the owner: a join would be planned with the project that row-level security adds, and in one that the statistics do not
-- know yet, or by a plan kept since the table was small, it would compare all with all.
CREATE FUNCTION nova_connect_embedded() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO memories_pendingconnection (project_id, namespace_id, fragment_id)
        SELECT n.project_id, n.namespace_id, n.fragment_id FROM new_rows n
        WHERE (SELECT f.change FROM memories_fragment f WHERE f.id = n.fragment_id) <> pg_current_xact_id();
    RETURN NULL;
END $$;
CREATE TRIGGER embedding_connect AFTER INSERT ON memories_embedding REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION nova_connect_embedded();

CREATE FUNCTION nova_connect_anew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memories_pendingconnection (project_id, namespace_id, fragment_id)
        VALUES (NEW.project_id, NEW.namespace_id, NEW.id);
    RETURN NULL;
END $$;
CREATE TRIGGER fragment_connect_anew AFTER UPDATE ON memories_fragment FOR EACH ROW
    WHEN ((NEW.status, NEW.content, NEW.entities, NEW.conversation_id, NEW.event_at)
        IS DISTINCT FROM (OLD.status, OLD.content, OLD.entities, OLD.conversation_id, OLD.event_at))
    EXECUTE FUNCTION nova_connect_anew();

CREATE FUNCTION nova_connect_claim() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c memories_claim := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO memories_pendingconnection (project_id, namespace_id, fragment_id)
        SELECT f.project_id, f.namespace_id, f.id FROM memories_fragment f
        WHERE f.project_id = c.project_id AND f.id = c.fragment_id;
    RETURN NULL;
END $$;
CREATE TRIGGER claim_connect_new AFTER INSERT OR DELETE ON memories_claim FOR EACH ROW
    EXECUTE FUNCTION nova_connect_claim();
CREATE TRIGGER claim_connect_anew AFTER UPDATE ON memories_claim FOR EACH ROW
    WHEN ((NEW.subject, NEW.predicate, NEW.value, NEW.session_id)
        IS DISTINCT FROM (OLD.subject, OLD.predicate, OLD.value, OLD.session_id))
    EXECUTE FUNCTION nova_connect_claim();

-- What was linked to a fragment that goes for good has to choose anew; with its last memory a conversation is no
-- episode any more. A namespace that goes with it needs nothing.
CREATE FUNCTION nova_connect_left() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memories_pendingconnection (project_id, namespace_id, fragment_id)
        SELECT OLD.project_id, OLD.namespace_id, l.fragment_id
        FROM memories_link l
        JOIN memories_namespace n ON n.project_id = OLD.project_id AND n.id = OLD.namespace_id
        JOIN memories_project p ON p.id = OLD.project_id
        WHERE l.project_id = OLD.project_id AND l.other_id = OLD.id AND l.kind = 'similar';
    IF OLD.conversation_id <> '' THEN
        DELETE FROM memories_episode e
            WHERE e.project_id = OLD.project_id AND e.namespace_id = OLD.namespace_id
                AND e.conversation_id = OLD.conversation_id AND NOT EXISTS (
                    SELECT FROM memories_fragment f
                    WHERE f.project_id = OLD.project_id AND f.namespace_id = OLD.namespace_id
                        AND f.conversation_id = OLD.conversation_id AND f.id <> OLD.id);
    END IF;
    RETURN OLD;
END $$;
CREATE TRIGGER fragment_connect_left BEFORE DELETE ON memories_fragment FOR EACH ROW
    EXECUTE FUNCTION nova_connect_left();

-- A name stands in the graph as long as a memory mentions it. Locked first: of two that take the last mentions away
-- at once the second sees that none is left.
CREATE FUNCTION nova_unmentioned() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off AS $$
DECLARE
    left_by uuid[] := ARRAY(SELECT DISTINCT entity_id FROM old_rows);
BEGIN
    PERFORM FROM memories_entity e WHERE e.id = ANY (left_by) ORDER BY e.id FOR UPDATE OF e;
    DELETE FROM memories_entity e WHERE e.id = ANY (left_by) AND NOT EXISTS (
        SELECT FROM memories_mention m WHERE m.project_id = e.project_id AND m.entity_id = e.id);
    RETURN NULL;
END $$;
CREATE TRIGGER mention_last AFTER DELETE ON memories_mention REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION nova_unmentioned();
