"""What the database promises whatever the code does: row-level security, composite references, triggers.

The shapes common to all tables stand in `_promises`.
"""

from django.db import migrations

from memories.migrations._promises import (
    References,
    event_tables,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
)

REFERENCES: References = {
    "memories_owner": {},
    "memories_grant": {},
    "memories_apikey": {"grant_id": ("memories_grant", "CASCADE"), "owner_id": ("memories_owner", "CASCADE")},
    "memories_namespace": {"forked_from_id": ("memories_namespace", "SET NULL (forked_from_id)")},
    "memories_fragment": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "superseded_by_id": ("memories_fragment", "SET NULL (superseded_by_id)"),
    },
    "memories_revision": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_access": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_link": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "other_id": ("memories_fragment", "CASCADE"),
    },
    "memories_pendingconnection": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_connected": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "model_id": ("memories_embeddingmodel", "CASCADE"),
    },
    "memories_cluster": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_clustermember": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "cluster_id": ("memories_cluster", "CASCADE"),
    },
    "memories_clusterlabel": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_episode": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_episodemember": {
        "episode_id": ("memories_episode", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_entity": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_mention": {
        "entity_id": ("memories_entity", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_relation": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "subject_id": ("memories_entity", "CASCADE"),
        "object_id": ("memories_entity", "CASCADE"),
    },
    "memories_claim": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "namespace_id": ("memories_namespace", "CASCADE"),
    },
    "memories_embedding": {
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_keywords": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_keywordstatistics": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_documentfrequency": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_pendingembedding": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "model_id": ("memories_embeddingmodel", "CASCADE"),
    },
    "memories_archive": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_tombstone": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_erasure": {},
    "memories_origin": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_operation": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_receipt": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_repeatedrequest": {},
    "memories_exchange": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "key_id": ("memories_apikey", "CASCADE"),
    },
    "memories_searchday": {},
    "memories_savedview": {},
    "memories_seal": {},
    "memories_llmcall": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_proposal": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_task": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_pendingreading": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_planstep": {
        "operation_id": ("memories_operation", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
        "other_id": ("memories_fragment", "CASCADE"),
    },
    "memories_runchange": {
        "operation_id": ("memories_operation", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    # Not RESTRICT, which would also refuse when the increment goes in the same statement, with the project.
    "memories_backup": {"base_id": ("memories_backup", "NO ACTION")},
    "memories_heardpair": {
        "one_id": ("memories_fragment", "CASCADE"),
        "other_id": ("memories_fragment", "CASCADE"),
    },
}
EVENTS = [
    f"memories_{name}event"
    for name in (
        *("fragment", "claim", "grant", "apikey", "namespace", "operation", "tombstone", "erasure", "backup"),
        "membership",
    )
]
CASCADES = """
    -- Cascades look children up by fragment; the search tables' keys begin with the namespace.
    CREATE INDEX ON memories_embedding (fragment_id);
    CREATE INDEX ON memories_keywords (fragment_id);
    CREATE INDEX memories_link_other ON memories_link (project_id, other_id);
    CREATE INDEX memories_episodemember_fragment ON memories_episodemember (project_id, fragment_id);
    CREATE INDEX memories_proposal_fragment ON memories_proposal (project_id, fragment_id);
    CREATE INDEX memories_task_fragment ON memories_task (project_id, fragment_id);
    CREATE INDEX memories_planstep_fragment ON memories_planstep (project_id, fragment_id);
    CREATE INDEX memories_planstep_other ON memories_planstep (project_id, other_id);
    CREATE INDEX memories_runchange_fragment ON memories_runchange (project_id, fragment_id);
    CREATE INDEX memories_heardpair_other ON memories_heardpair (project_id, other_id);
"""
UNDO_CASCADES = """
    DROP INDEX memories_embedding_fragment_id_idx, memories_keywords_fragment_id_idx, memories_link_other,
        memories_episodemember_fragment, memories_proposal_fragment, memories_task_fragment, memories_planstep_fragment, memories_planstep_other,
        memories_runchange_fragment, memories_heardpair_other;
"""

DIMENSIONS = """
    -- A vector of another number of dimensions than its model's is impossible; nor can a model with vectors change its own.
    ALTER TABLE memories_embedding ADD COLUMN dim integer NOT NULL GENERATED ALWAYS AS (vector_dims(vector)) STORED,
        ADD CONSTRAINT memories_embedding_model_id_fk FOREIGN KEY (model_id, dim)
            REFERENCES memories_embeddingmodel (id, dim) ON DELETE RESTRICT;
"""
UNDO_DIMENSIONS = "ALTER TABLE memories_embedding DROP COLUMN dim;"

# Seals are added and read, never taken back, but for the cascade of a project's end.
SEALS = "REVOKE UPDATE, DELETE, TRUNCATE ON memories_seal FROM nova_app;"
UNDO_SEALS = "GRANT UPDATE, DELETE ON memories_seal TO nova_app;"

BELIEF = """
    -- Two active exclusive values of one key at one time are impossible. SHA-256 of the key, because long keys break GiST;
    -- deferrable, because a swap in one UPDATE would otherwise depend on row order.
    ALTER TABLE memories_claim ADD CONSTRAINT claim_one_value EXCLUDE USING gist (
        project_id WITH =, namespace_id WITH =, key_digest WITH =, session_id WITH =, slot WITH =, validity WITH &&
    ) WHERE (status = 'active' AND exclusive) DEFERRABLE INITIALLY IMMEDIATE;
"""
UNDO_BELIEF = "ALTER TABLE memories_claim DROP CONSTRAINT claim_one_value;"

TRIGGERS = r"""
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
"""
UNDO_TRIGGERS = """
    DROP TRIGGER llmcall_fixed ON memories_llmcall;
    DROP TRIGGER seal_fixed ON memories_seal;
    DROP TRIGGER grant_fixed ON memories_grant;
    DROP TRIGGER claim_reach_gone ON memories_claim;
    DROP TRIGGER claim_reach ON memories_claim;
    DROP TRIGGER claim_reach_new ON memories_claim;
    DROP TRIGGER revision_newest ON memories_revision;
    DROP TRIGGER claim_before ON memories_claim;
    DROP TRIGGER fragment_marks ON memories_fragment;
    DROP TRIGGER fragment_status ON memories_fragment;
    DROP TRIGGER fragment_before ON memories_fragment;
    DROP FUNCTION nova_never_changes, nova_claim_reach, nova_revision_newest, nova_claim_before, nova_fragment_marks, nova_fragment_status, nova_fragment_before, nova_details_digest,
        nova_fingerprint, nova_keyed;
"""


class Migration(migrations.Migration):
    """References, row-level security, triggers."""

    dependencies = [("memories", "0002_search_tables")]

    operations = [
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(DIMENSIONS, UNDO_DIMENSIONS),
        migrations.RunSQL(CASCADES, UNDO_CASCADES),
        migrations.RunSQL(event_tables(EVENTS, app="memories"), undo_event_tables(EVENTS, app="memories")),
        migrations.RunSQL(SEALS, UNDO_SEALS),
        migrations.RunSQL(BELIEF, UNDO_BELIEF),
        migrations.RunSQL(TRIGGERS, UNDO_TRIGGERS),
    ]
