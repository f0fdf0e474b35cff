"""Users: scopes below a namespace, and which of them a key speaks for (docs/spec.md §2.2)."""

import django.contrib.postgres.fields
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memories.models.key
from memories.migrations._promises import history_by_triggers, key_lookup, reference
from memories.migrations._sql import sql_of

PARENT = reference("memories_namespace", "parent_id", "memories_namespace", "CASCADE")
UNDO_PARENT = "ALTER TABLE memories_namespace DROP CONSTRAINT memories_namespace_parent_id_fk;"

FIXED = sql_of(__file__, "fixed")
GUARDED = sql_of(__file__, "guarded")
UNDO_GUARDED = "DROP POLICY by_user ON memories_namespace; DROP FUNCTION nova_sees_user;"
UNDO_FIXED = "DROP TRIGGER scope_fixed ON memories_namespace; DROP FUNCTION nova_scope_fixed, nova_root;"

LOOKUP = {"users": "text", "user_patterns": "text[]"}


class Migration(migrations.Migration):
    """Namespaces with users, grants that say for whom."""

    dependencies = [
        ("memories", "0006_lookups"),
    ]

    operations = [
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
        pgtrigger.migrations.RemoveTrigger(
            model_name="namespace",
            name="insert_insert",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="namespace",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="namespace",
            name="delete_delete",
        ),
        migrations.RemoveConstraint(
            model_name="namespace",
            name="namespace_name_form",
        ),
        migrations.RemoveConstraint(
            model_name="namespace",
            name="namespace_name",
        ),
        migrations.AddField(
            model_name="grant",
            name="user_patterns",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=300), default=memories.models.key.every_user, size=None
            ),
        ),
        migrations.AddField(
            model_name="grant",
            name="users",
            field=models.CharField(
                choices=[("required", "Required"), ("optional", "Optional"), ("none", "None")],
                default="optional",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="grantevent",
            name="users",
            field=models.CharField(
                choices=[("required", "Required"), ("optional", "Optional"), ("none", "None")],
                default="optional",
                max_length=16,
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="parent",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="memories.namespace",
            ),
        ),
        migrations.AddField(
            model_name="namespace",
            name="user",
            field=models.CharField(max_length=255, null=True),
        ),
        migrations.AddField(
            model_name="namespaceevent",
            name="parent",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="memories.namespace",
            ),
        ),
        migrations.AlterField(
            model_name="namespace",
            name="name",
            field=models.TextField(),
        ),
        migrations.AddIndex(
            model_name="namespace",
            index=models.Index(
                condition=models.Q(("user__isnull", False)), fields=["project", "user"], name="namespace_by_user"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."requests_per_minute", new_values."users" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="6fd4994a07183d8df697d4d41dec255e4f5da505",
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
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users") SELECT new_values."ceiling", new_values."created_at", new_values."id", new_values."may_attest_user", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."requests_per_minute", new_values."users" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."ceiling" IS DISTINCT FROM (new_values."ceiling") OR old_values."created_at" IS DISTINCT FROM (new_values."created_at") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."may_attest_user" IS DISTINCT FROM (new_values."may_attest_user") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."requests_per_minute" IS DISTINCT FROM (new_values."requests_per_minute") OR old_values."users" IS DISTINCT FROM (new_values."users")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="4ee9440e545332995bc97bff3e58f63ae893549b",
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
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_grantevent" ("ceiling", "created_at", "id", "may_attest_user", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "requests_per_minute", "users") SELECT old_values."ceiling", old_values."created_at", old_values."id", old_values."may_attest_user", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."requests_per_minute", old_values."users" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="ea7084ec61c2da8bded58491e5398ab26a6f7474",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_533a9",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_grant",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="namespace",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_namespaceevent" ("archive_policy", "created_at", "forked_from_id", "id", "parent_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT new_values."archive_policy", new_values."created_at", new_values."forked_from_id", new_values."id", new_values."parent_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="b8cde03fa4811b74c433f25ccb7491181820a5c7",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_180d0",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_namespace",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="namespace",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_namespaceevent" ("archive_policy", "created_at", "forked_from_id", "id", "parent_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT new_values."archive_policy", new_values."created_at", new_values."forked_from_id", new_values."id", new_values."parent_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."archive_policy" IS DISTINCT FROM (new_values."archive_policy") OR old_values."created_at" IS DISTINCT FROM (new_values."created_at") OR old_values."forked_from_id" IS DISTINCT FROM (new_values."forked_from_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."parent_id" IS DISTINCT FROM (new_values."parent_id") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="86ac73b047f668ec5dfaf3356eda213bfa2d854d",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_e255a",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_namespace",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="namespace",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_namespaceevent" ("archive_policy", "created_at", "forked_from_id", "id", "parent_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id") SELECT old_values."archive_policy", old_values."created_at", old_values."forked_from_id", old_values."id", old_values."parent_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="5334af2feb9d0cf7d8c534d00b87596e30ee1883",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_0efeb",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_namespace",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(("users__in", ["required", "optional", "none"])), name="grant_users"
            ),
        ),
        migrations.AddConstraint(
            model_name="namespace",
            constraint=models.UniqueConstraint(
                condition=models.Q(("parent", None)), fields=("project", "name"), name="namespace_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="namespace",
            constraint=models.UniqueConstraint(fields=("project", "parent", "user"), name="namespace_user"),
        ),
        migrations.AddConstraint(
            model_name="namespace",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("parent", None), ("user", None)),
                    models.Q(
                        ("parent__isnull", False),
                        ("user__isnull", False),
                        models.Q(("user__regex", "[\x01-\x1f\x7f-\x9f]"), _negated=True),
                        models.Q(("user", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="namespace_user_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="namespace",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("name__regex", "^[a-z0-9][a-z0-9._-]{0,62}:[a-z0-9][a-z0-9._-]{0,62}$"), ("parent", None)
                    ),
                    models.Q(
                        ("name__regex", "^[a-z0-9][a-z0-9._-]{0,62}:[a-z0-9][a-z0-9._-]{0,62}/[^/]+$"),
                        ("parent__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="namespace_name_form",
            ),
        ),
        migrations.AlterField(
            "backup",
            "namespaces",
            django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None),
        ),
        migrations.AddField("connected", "changed", models.BooleanField(default=True)),
        migrations.AddIndex(
            "connected",
            models.Index(
                condition=models.Q(("changed", True)), fields=["project", "namespace"], name="connected_changed"
            ),
        ),
        migrations.RunSQL(PARENT, UNDO_PARENT),
        migrations.RunSQL(FIXED, UNDO_FIXED),
        migrations.RunSQL(GUARDED, UNDO_GUARDED),
        migrations.RunSQL(key_lookup(**LOOKUP), key_lookup()),
        migrations.RunSQL(history_by_triggers("memories"), migrations.RunSQL.noop),
    ]
