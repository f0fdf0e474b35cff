"""Reading all of a project becomes a right of its own; keys from before do without it."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._promises import event_tables

# A key is looked up before its project is known, so this one runs as the owner; it needs the exact id.
KEY_LOOKUP = """
    DROP FUNCTION nova_find_key;
    CREATE FUNCTION nova_find_key(wanted text)
    RETURNS TABLE (id uuid, digest bytea, project_id uuid, project_name text, owner_id uuid, owner_name text,
        grant_id uuid, namespaces text[], verbs text[], ceiling text, may_attest_user boolean, {typed}
        requests_per_minute integer, expires_at timestamptz, revoked_at timestamptz)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT k.id, k.digest, k.project_id, p.name, k.owner_id, o.name, g.id, g.namespaces, g.verbs, g.ceiling,
            g.may_attest_user, {named} g.requests_per_minute, k.expires_at, k.revoked_at
        FROM memories_apikey k
        JOIN memories_project p ON p.id = k.project_id
        JOIN memories_owner o ON o.project_id = k.project_id AND o.id = k.owner_id
        JOIN memories_grant g ON g.project_id = k.project_id AND g.id = k.grant_id
        WHERE k.key_id = wanted;
    $$;
"""
WITH = KEY_LOOKUP.format(typed="may_read_wide boolean,", named="g.may_read_wide,")
WITHOUT = KEY_LOOKUP.format(typed="", named="")
# Triggers that are made anew write history as the owner again, whichever way this runs.
PINNED = event_tables([], app="memories")


class Migration(migrations.Migration):
    """The column, in the history too, and the look-up that answers it."""

    dependencies = [
        ("memories", "0006_lookups"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, PINNED),
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="insert_insert",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="grant",
            name="delete_delete",
        ),
        migrations.AddField(
            model_name="grant",
            name="may_read_wide",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="grantevent",
            name="may_read_wide",
            field=models.BooleanField(default=False),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", new_values."may_read_wide", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."requests_per_minute" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="d46e7c55c5e36a88199fcc5be6760af24d746a1c",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_8470a",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", new_values."may_read_wide", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."requests_per_minute" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."ceiling" IS DISTINCT FROM (new_values."ceiling") OR old_values."created_at" IS DISTINCT FROM (new_values."created_at") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."may_attest_user" IS DISTINCT FROM (new_values."may_attest_user") OR old_values."may_read_wide" IS DISTINCT FROM (new_values."may_read_wide") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."requests_per_minute" IS DISTINCT FROM (new_values."requests_per_minute")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="fa8981015528ca54e96e577cca0771641c09b3e1",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_e4b53",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute") SELECT old_values."ceiling", old_values."created_at", old_values."id", old_values."may_attest_user", old_values."may_read_wide", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."requests_per_minute" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="0f9357df86ef126d683ced64e4d31b3816aa2f8e",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_533a9",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        migrations.RunSQL(PINNED, migrations.RunSQL.noop),
        migrations.RunSQL(WITH, WITHOUT),
    ]
