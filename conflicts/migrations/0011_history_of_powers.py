"""History says enough to tell forged rows: digests of the words of rules, and of the keys that rulings are on."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._promises import digested, history_by_triggers, undo_digested

DIGESTED = {
    "conflicts_predicate": ("id", "name", "aliases"),
    "conflicts_ruling": ("id", "subject_digest", "predicate_digest", "scope", "session_id"),
}


class Migration(migrations.Migration):
    """Columns and triggers of history."""

    dependencies = [
        ("conflicts", "0010_further_spellings"),
        ("memories", "0019_forged_rows_and_folded_texts"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, history_by_triggers("conflicts")),
        pgtrigger.migrations.RemoveTrigger(
            model_name="predicate",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="ruling",
            name="insert_insert",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="ruling",
            name="update_update",
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="ruling",
            name="delete_delete",
        ),
        migrations.AddField(
            model_name="predicateevent",
            name="details_digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="rulingevent",
            name="details_digest",
            field=models.BinaryField(max_length=32, null=True),
        ),
        migrations.AddField(
            model_name="rulingevent",
            name="valid_from",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="rulingevent",
            name="valid_until",
            field=models.DateTimeField(null=True),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="predicate",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_predicateevent" ("exclusive", "id", "namespace_id", "normaliser", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy", "project_id", "revision") SELECT new_values."exclusive", new_values."id", new_values."namespace_id", new_values."normaliser", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."policy", new_values."project_id", new_values."revision" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."aliases" IS DISTINCT FROM (new_values."aliases") OR old_values."exclusive" IS DISTINCT FROM (new_values."exclusive") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."name" IS DISTINCT FROM (new_values."name") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."normaliser" IS DISTINCT FROM (new_values."normaliser") OR old_values."policy" IS DISTINCT FROM (new_values."policy") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."revision" IS DISTINCT FROM (new_values."revision")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="49a4aadde711ad5aedc0692cc39fc3030a96f059",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_76576",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="conflicts_predicate",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out", "valid_from", "valid_until") SELECT new_values."authority", new_values."chosen", new_values."conflict_id", new_values."decided_at", new_values."decided_by", new_values."edited", new_values."fragment_id", new_values."id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."repeats", new_values."replaced_by_id", new_values."ruled_out", new_values."valid_from", new_values."valid_until" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="8ed552df637600baf1477b01d59b8996b255b988",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_c3519",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out", "valid_from", "valid_until") SELECT new_values."authority", new_values."chosen", new_values."conflict_id", new_values."decided_at", new_values."decided_by", new_values."edited", new_values."fragment_id", new_values."id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."repeats", new_values."replaced_by_id", new_values."ruled_out", new_values."valid_from", new_values."valid_until" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."chosen" IS DISTINCT FROM (new_values."chosen") OR old_values."conflict_id" IS DISTINCT FROM (new_values."conflict_id") OR old_values."decided_at" IS DISTINCT FROM (new_values."decided_at") OR old_values."decided_by" IS DISTINCT FROM (new_values."decided_by") OR old_values."edited" IS DISTINCT FROM (new_values."edited") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."key_digest" IS DISTINCT FROM (new_values."key_digest") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."predicate_digest" IS DISTINCT FROM (new_values."predicate_digest") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."repeats" IS DISTINCT FROM (new_values."repeats") OR old_values."replaced_by_id" IS DISTINCT FROM (new_values."replaced_by_id") OR old_values."ruled_out" IS DISTINCT FROM (new_values."ruled_out") OR old_values."scope" IS DISTINCT FROM (new_values."scope") OR old_values."session_id" IS DISTINCT FROM (new_values."session_id") OR old_values."subject_digest" IS DISTINCT FROM (new_values."subject_digest") OR old_values."valid_from" IS DISTINCT FROM (new_values."valid_from") OR old_values."valid_until" IS DISTINCT FROM (new_values."valid_until")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="d7d5330a5650515e414fcdda03bbb88d83dd699a",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_a987b",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out", "valid_from", "valid_until") SELECT old_values."authority", old_values."chosen", old_values."conflict_id", old_values."decided_at", old_values."decided_by", old_values."edited", old_values."fragment_id", old_values."id", old_values."key_digest", old_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."repeats", old_values."replaced_by_id", old_values."ruled_out", old_values."valid_from", old_values."valid_until" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="0d5abb2012a8120667bde99d9a2302a746b7602b",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_e5f95",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        migrations.RunSQL(history_by_triggers("conflicts"), migrations.RunSQL.noop),
        migrations.RunSQL(
            [digested(table, *columns) for table, columns in DIGESTED.items()], [undo_digested(t) for t in DIGESTED]
        ),
    ]
