"""Triggers of history that know the columns that came: of grants and of erasures."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations

from memories.migrations._promises import history_by_triggers


class Migration(migrations.Migration):
    """The same triggers, written anew."""

    dependencies = [
        ("memories", "0011_external_keys"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, history_by_triggers("memories")),
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
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", new_values."may_read_wide", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."requests_per_minute", new_values."users" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="0841a7733d02d06cf16fb1930cf29b4922d22398",
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
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", new_values."may_read_wide", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."requests_per_minute", new_values."users" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."ceiling" IS DISTINCT FROM (new_values."ceiling") OR old_values."created_at" IS DISTINCT FROM (new_values."created_at") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."may_attest_user" IS DISTINCT FROM (new_values."may_attest_user") OR old_values."may_read_wide" IS DISTINCT FROM (new_values."may_read_wide") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."requests_per_minute" IS DISTINCT FROM (new_values."requests_per_minute") OR old_values."users" IS DISTINCT FROM (new_values."users")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="e183323011be3ab6bd6ab65332bbe1d805173d47",
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
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "may_read_wide", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users") SELECT old_values."ceiling", old_values."created_at", old_values."id", old_values."may_attest_user", old_values."may_read_wide", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."requests_per_minute", old_values."users" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="d976e98c6c83ccfe32b47347a6f22f01f9356196",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_533a9",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        migrations.RunSQL(history_by_triggers("memories"), migrations.RunSQL.noop),
    ]
