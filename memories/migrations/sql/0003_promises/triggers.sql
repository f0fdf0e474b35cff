-- Keyed by the project's salt; the same for texts that differ in case, width or spacing only.
CREATE FUNCTION nova_keyed(salt bytea, content text) RETURNS bytea LANGUAGE sql STABLE
    RETURN sha256(
        salt || convert_to(lower(regexp_replace(normalize(btrim(content), NFKC), '\s+', ' ', 'g')), 'UTF8') || salt
    );

CREATE FUNCTION nova_fingerprint(project uuid, content text) RETURNS bytea LANGUAGE sql STABLE
    RETURN (SELECT nova_keyed(p.salt, content) FROM memories_project p WHERE p.id = project);

-- Keyed likewise; over the columns beside the text that hold a caller's words.
CREATE FUNCTION nova_details_digest(salt bytea, f memories_fragment) RETURNS bytea LANGUAGE sql STABLE
    RETURN sha256(salt || convert_to(jsonb_build_array(f.agent_id, f.category, f.source_id, f.source_ids,
        f.workflow_id, f.conversation_id, f.tags, f.entities, f.topics, f.extra, f.provenance_source_id,
        f.archived_reason)::text, 'UTF8') || salt);

CREATE FUNCTION nova_fragment_before() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    its_salt bytea;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.id, NEW.project_id, NEW.namespace_id, NEW.created_at, NEW.source, NEW.provenance_source_id,
            NEW.authority, NEW.parents, NEW.roots)
           IS DISTINCT FROM
           (OLD.id, OLD.project_id, OLD.namespace_id, OLD.created_at, OLD.source, OLD.provenance_source_id,
            OLD.authority, OLD.parents, OLD.roots)
           OR NEW.grant_id IS DISTINCT FROM OLD.grant_id OR NEW.owner_id IS DISTINCT FROM OLD.owner_id
        THEN
            RAISE EXCEPTION 'birth and provenance of a fragment never change' USING ERRCODE = 'NV001';
        END IF;
        IF NEW.content IS DISTINCT FROM OLD.content THEN
            INSERT INTO memories_revision (id, project_id, fragment_id, revision, content, recorded_at)
            VALUES (gen_random_uuid(), OLD.project_id, OLD.id, OLD.revision, OLD.content, clock_timestamp())
            ON CONFLICT (project_id, fragment_id, revision) DO NOTHING;
            NEW.revision := greatest(NEW.revision, OLD.revision + 1);
        END IF;
    END IF;
    -- Read once for both digests: functions that each read it take half as long again.
    SELECT salt INTO its_salt FROM memories_project WHERE id = NEW.project_id;
    IF TG_OP = 'INSERT' OR NEW.content IS DISTINCT FROM OLD.content THEN
        NEW.fingerprint := nova_keyed(its_salt, NEW.content);
        IF EXISTS (SELECT FROM memories_erasure e
                   WHERE e.project_id = NEW.project_id AND e.fingerprint = NEW.fingerprint
                       AND e.authority >= NEW.authority)
            -- A restore names those that lived on beside the erasure, where both come from.
            AND NEW.id <> ALL (coalesce(NULLIF(current_setting('nova.beside', true), ''), '{}')::uuid[]) THEN
            RAISE EXCEPTION 'this text was forgotten' USING ERRCODE = 'NV002';
        END IF;
    END IF;
    NEW.details_digest := nova_details_digest(its_salt, NEW);
    NEW.change := pg_current_xact_id();
    RETURN NEW;
END $$;
CREATE TRIGGER fragment_before BEFORE INSERT OR UPDATE ON memories_fragment
    FOR EACH ROW EXECUTE FUNCTION nova_fragment_before();

CREATE FUNCTION nova_fragment_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memories_keywords SET status = NEW.status
        WHERE project_id = NEW.project_id AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    UPDATE memories_embedding SET status = NEW.status
        WHERE project_id = NEW.project_id AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    UPDATE memories_claim SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    UPDATE memories_mention SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    UPDATE memories_relation SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER fragment_status AFTER UPDATE OF status ON memories_fragment
    FOR EACH ROW WHEN (NEW.status IS DISTINCT FROM OLD.status) EXECUTE FUNCTION nova_fragment_status();

-- The search tables know what filters may ask, and what is too cold for a search by meaning.
CREATE FUNCTION nova_fragment_marks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE memories_keywords SET words = ts_delete(words, nova_marks(OLD)) || array_to_tsvector(nova_marks(NEW))
        WHERE project_id = NEW.project_id AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    IF (NEW.tier = 'cold') IS DISTINCT FROM (OLD.tier = 'cold') THEN
        UPDATE memories_embedding SET cold = NEW.tier = 'cold'
            WHERE project_id = NEW.project_id AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fragment_marks
    AFTER UPDATE OF type, source_type, agent_id, tier, outcome, conversation_id, workflow_id, tags, importance
    ON memories_fragment
    FOR EACH ROW WHEN (nova_marks(NEW) IS DISTINCT FROM nova_marks(OLD)) EXECUTE FUNCTION nova_fragment_marks();

CREATE FUNCTION nova_claim_before() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.project_id, NEW.fragment_id, NEW.authority) IS DISTINCT FROM (OLD.project_id, OLD.fragment_id, OLD.authority)
    THEN
        RAISE EXCEPTION 'the authority of a claim never changes' USING ERRCODE = 'NV001';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER claim_before BEFORE UPDATE ON memories_claim FOR EACH ROW EXECUTE FUNCTION nova_claim_before();

-- The newest 500 former texts of a fragment are kept: with more its record could be longer than a bundle's line may be.
CREATE FUNCTION nova_revision_newest() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM memories_revision r
        USING (SELECT DISTINCT project_id, fragment_id FROM fresh) AS f
        CROSS JOIN LATERAL (
            SELECT o.revision FROM memories_revision o
            WHERE o.project_id = f.project_id AND o.fragment_id = f.fragment_id
            ORDER BY o.revision DESC OFFSET 499 LIMIT 1
        ) AS oldest
        WHERE r.project_id = f.project_id AND r.fragment_id = f.fragment_id AND r.revision < oldest.revision;
    RETURN NULL;
END $$;
CREATE TRIGGER revision_newest AFTER INSERT ON memories_revision REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION nova_revision_newest();

-- The search tables and the graph know whose session sees a fragment and when its claim holds.
CREATE FUNCTION nova_claim_reach() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c memories_claim := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    gone boolean := TG_OP = 'DELETE';
BEGIN
    UPDATE memories_keywords SET session_id = CASE WHEN gone THEN '' ELSE c.session_id END,
        valid_from = CASE WHEN gone THEN NULL ELSE c.valid_from END,
        valid_until = CASE WHEN gone THEN NULL ELSE c.valid_until END
        WHERE project_id = c.project_id AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
    UPDATE memories_embedding SET session_id = CASE WHEN gone THEN '' ELSE c.session_id END,
        valid_from = CASE WHEN gone THEN NULL ELSE c.valid_from END,
        valid_until = CASE WHEN gone THEN NULL ELSE c.valid_until END
        WHERE project_id = c.project_id AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
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
CREATE TRIGGER claim_reach_new AFTER INSERT ON memories_claim FOR EACH ROW
    WHEN (NEW.session_id <> '' OR NEW.valid_from IS NOT NULL OR NEW.valid_until IS NOT NULL)
    EXECUTE FUNCTION nova_claim_reach();
CREATE TRIGGER claim_reach AFTER UPDATE ON memories_claim FOR EACH ROW
    WHEN ((NEW.session_id, NEW.valid_from, NEW.valid_until)
        IS DISTINCT FROM (OLD.session_id, OLD.valid_from, OLD.valid_until))
    EXECUTE FUNCTION nova_claim_reach();
CREATE TRIGGER claim_reach_gone AFTER DELETE ON memories_claim FOR EACH ROW
    WHEN (OLD.session_id <> '' OR OLD.valid_from IS NOT NULL OR OLD.valid_until IS NOT NULL)
    EXECUTE FUNCTION nova_claim_reach();

CREATE FUNCTION nova_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% rows never change: revoke and issue anew', TG_TABLE_NAME USING ERRCODE = 'NV001';
END $$;
CREATE TRIGGER grant_fixed BEFORE UPDATE ON memories_grant FOR EACH ROW EXECUTE FUNCTION nova_never_changes();
CREATE TRIGGER seal_fixed BEFORE UPDATE ON memories_seal FOR EACH ROW EXECUTE FUNCTION nova_never_changes();
CREATE TRIGGER llmcall_fixed BEFORE UPDATE ON memories_llmcall FOR EACH ROW EXECUTE FUNCTION nova_never_changes();
