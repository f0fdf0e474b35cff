CREATE OR REPLACE FUNCTION nova_fragment_before() RETURNS trigger LANGUAGE plpgsql AS $$
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
                       AND e.authority >= NEW.authority {scope})
            -- A restore names those that lived on beside the erasure, where both come from.
            AND NEW.id <> ALL (coalesce(NULLIF(current_setting('nova.beside', true), ''), '{{}}')::uuid[]) THEN
            RAISE EXCEPTION 'this text was forgotten' USING ERRCODE = 'NV002';
        END IF;
    END IF;
    NEW.details_digest := nova_details_digest(its_salt, NEW);
    NEW.change := pg_current_xact_id();
    RETURN NEW;
END $$;
