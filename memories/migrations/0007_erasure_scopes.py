"""Erasures bar a text in the namespace where it was forgotten; those of before go on barring it in the whole project."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._promises import as_the_owner

BEFORE = r"""
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
"""
SCOPED = BEFORE.format(scope="AND (e.namespace_id IS NULL OR e.namespace_id = NEW.namespace_id)")
UNSCOPED = BEFORE.format(scope="")
# Of one memory and text one was enough.
ONCE = """
    ALTER TABLE memories_erasure NO FORCE ROW LEVEL SECURITY;
    DELETE FROM memories_erasure a USING memories_erasure b WHERE a.project_id = b.project_id
        AND a.fingerprint = b.fingerprint AND a.fragment_id = b.fragment_id AND (a.authority, a.id) < (b.authority, b.id);
    ALTER TABLE memories_erasure FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    """Where an erasure bars its text."""

    dependencies = [
        ("memories", "0006_lookups"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, as_the_owner("memories")),
        pgtrigger.migrations.RemoveTrigger(
            model_name="erasure",
            name="insert_insert",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="erasure",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="erasure",
            name="delete_delete",
        ),
        migrations.RemoveConstraint(
            model_name="erasure",
            name="erasure_once",
        ),
        migrations.AddField(
            model_name="erasure",
            name="namespace_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="erasureevent",
            name="namespace_id",
            field=models.UUIDField(null=True),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="erasure",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_erasureevent" ("authority", "erased_at", "fragment_id", "id", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT new_values."authority", new_values."erased_at", new_values."fragment_id", new_values."id", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="15ffc4699144dc97b9c2da1d8f510304a5aa4a8f",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_0803f",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_erasure",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="erasure",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_erasureevent" ("authority", "erased_at", "fragment_id", "id", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT new_values."authority", new_values."erased_at", new_values."fragment_id", new_values."id", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."erased_at" IS DISTINCT FROM (new_values."erased_at") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="acc75113f2aa50aed905079810a6f6b618b27ec0",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_611ed",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_erasure",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="erasure",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_erasureevent" ("authority", "erased_at", "fragment_id", "id", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT old_values."authority", old_values."erased_at", old_values."fragment_id", old_values."id", old_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="07120629820765ecfb26b3d0d5bf77a9533fb944",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_82753",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_erasure",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.UniqueConstraint(
                fields=("project", "fingerprint", "fragment_id", "namespace_id"),
                name="erasure_once",
                nulls_distinct=False,
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, ONCE),
        migrations.RunSQL(SCOPED, UNSCOPED),
        migrations.RunSQL(as_the_owner("memories"), migrations.RunSQL.noop),
    ]
