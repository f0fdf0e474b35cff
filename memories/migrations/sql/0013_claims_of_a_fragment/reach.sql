-- Whose session sees a fragment, and from when until when one of its claims holds that stand with it.
CREATE FUNCTION nova_reach(project uuid, fragment uuid)
RETURNS TABLE (session_id varchar, valid_from timestamptz, valid_until timestamptz) LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(c.session_id), ''),
        CASE WHEN bool_and(c.valid_from IS NOT NULL) THEN min(c.valid_from) END,
        CASE WHEN bool_and(c.valid_until IS NOT NULL) THEN max(c.valid_until) END
    FROM memories_claim c
    WHERE c.project_id = project AND c.fragment_id = fragment AND (c.verdict = '' OR NOT EXISTS (
        SELECT FROM memories_claim o
        WHERE o.project_id = project AND o.fragment_id = fragment AND o.verdict = ''));
$$;

CREATE OR REPLACE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO memories_keywords AS k (project_id, root_id, namespace_id, fragment_id, status, session_id, valid_from,
        valid_until, words, length)
    SELECT f.project_id, r.id, f.namespace_id, f.id, f.status, c.session_id, c.valid_from, c.valid_until,
        w.words || array_to_tsvector(nova_marks(f)), nova_word_count(w.words)
    FROM memories_fragment f
    CROSS JOIN LATERAL nova_reach(f.project_id, f.id) AS c
    JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
    JOIN memories_namespace r ON r.project_id = n.project_id AND r.id = coalesce(n.parent_id, n.id)
    -- OFFSET 0: worked out once, not once for each use.
    CROSS JOIN LATERAL (SELECT to_tsvector(r.language::regconfig, f.content) AS words OFFSET 0) AS w
    WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
    ON CONFLICT (project_id, root_id, namespace_id, fragment_id)
    DO UPDATE SET words = excluded.words, length = excluded.length, status = excluded.status,
        session_id = excluded.session_id, valid_from = excluded.valid_from, valid_until = excluded.valid_until;
$$;

CREATE OR REPLACE FUNCTION nova_fragment_status() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    root uuid := nova_root(NEW.namespace_id);
BEGIN
    UPDATE memories_keywords SET status = NEW.status
        WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    UPDATE memories_embedding SET status = NEW.status
        WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    UPDATE memories_claim SET status = nova_claim_status(NEW.status, verdict)
        WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    UPDATE memories_mention SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION nova_claim_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.project_id, NEW.fragment_id, NEW.authority)
        IS DISTINCT FROM (OLD.project_id, OLD.fragment_id, OLD.authority)
    THEN
        RAISE EXCEPTION 'the authority of a claim never changes' USING ERRCODE = 'NV001';
    END IF;
    IF TG_OP = 'INSERT' OR (NEW.status, NEW.verdict) IS DISTINCT FROM (OLD.status, OLD.verdict) THEN
        NEW.status := coalesce((SELECT nova_claim_status(f.status, NEW.verdict) FROM memories_fragment f
            WHERE f.project_id = NEW.project_id AND f.id = NEW.fragment_id), NEW.status);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER claim_status BEFORE INSERT ON memories_claim FOR EACH ROW EXECUTE FUNCTION nova_claim_before();

CREATE OR REPLACE FUNCTION nova_claim_reach() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c memories_claim := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    root uuid := nova_root(c.namespace_id);
    r record;
BEGIN
    SELECT * INTO r FROM nova_reach(c.project_id, c.fragment_id);
    UPDATE memories_keywords SET session_id = r.session_id, valid_from = r.valid_from, valid_until = r.valid_until
        WHERE project_id = c.project_id AND root_id = root AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
    UPDATE memories_embedding SET session_id = r.session_id, valid_from = r.valid_from, valid_until = r.valid_until
        WHERE project_id = c.project_id AND root_id = root AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
    UPDATE memories_mention SET session_id = r.session_id, valid_from = r.valid_from, valid_until = r.valid_until
        WHERE project_id = c.project_id AND fragment_id = c.fragment_id;
    UPDATE memories_relation SET session_id = c.session_id, valid_from = c.valid_from, valid_until = c.valid_until,
        status = c.status
        WHERE project_id = c.project_id AND claim_id = c.id;
    RETURN NULL;
END $$;
DROP TRIGGER claim_reach_new ON memories_claim;
DROP TRIGGER claim_reach ON memories_claim;
DROP TRIGGER claim_reach_gone ON memories_claim;
CREATE TRIGGER claim_reach_new AFTER INSERT ON memories_claim FOR EACH ROW
    WHEN (NEW.session_id <> '' OR NEW.valid_from IS NOT NULL OR NEW.valid_until IS NOT NULL OR NEW.position > 0)
    EXECUTE FUNCTION nova_claim_reach();
CREATE TRIGGER claim_reach AFTER UPDATE ON memories_claim FOR EACH ROW
    WHEN ((NEW.session_id, NEW.valid_from, NEW.valid_until, NEW.status, NEW.verdict)
        IS DISTINCT FROM (OLD.session_id, OLD.valid_from, OLD.valid_until, OLD.status, OLD.verdict))
    EXECUTE FUNCTION nova_claim_reach();
CREATE TRIGGER claim_reach_gone AFTER DELETE ON memories_claim FOR EACH ROW
    WHEN (OLD.session_id <> '' OR OLD.valid_from IS NOT NULL OR OLD.valid_until IS NOT NULL OR OLD.position > 0)
    EXECUTE FUNCTION nova_claim_reach();

-- A place in the text goes with the text.
CREATE FUNCTION nova_fragment_spans() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memories_claim SET span_start = NULL, span_end = NULL
        WHERE project_id = NEW.project_id AND fragment_id = NEW.id AND span_start IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER fragment_spans AFTER UPDATE OF content ON memories_fragment
    FOR EACH ROW WHEN (NEW.content <> OLD.content) EXECUTE FUNCTION nova_fragment_spans();
