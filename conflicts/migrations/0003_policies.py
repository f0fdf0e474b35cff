"""Policies of predicates: what equal authority of another owner does, in place of `newer_wins`."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._promises import TRIGGER_FUNCTIONS

POLICY = models.CharField(
    choices=[("review", "Review"), ("newest", "Newest"), ("keep_both", "Keep Both")], default="review", max_length=16
)
PINNED = "SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp"
# Sealed events stay as they are: their former column is kept, and what they did not know stays null.
FORWARD = """
    ALTER TABLE conflicts_predicate ADD COLUMN policy varchar(16) NOT NULL DEFAULT 'review';
    UPDATE conflicts_predicate SET policy = 'newest' WHERE newer_wins;
    ALTER TABLE conflicts_predicate ALTER COLUMN policy DROP DEFAULT, DROP COLUMN newer_wins;
    ALTER TABLE conflicts_predicateevent ADD COLUMN policy varchar(16), ALTER COLUMN newer_wins DROP NOT NULL;
"""
BACKWARD = """
    UPDATE conflicts_predicateevent SET newer_wins = (policy = 'newest') WHERE newer_wins IS NULL;
    ALTER TABLE conflicts_predicateevent ALTER COLUMN newer_wins SET NOT NULL, DROP COLUMN policy;
    ALTER TABLE conflicts_predicate ADD COLUMN newer_wins boolean NOT NULL DEFAULT false;
    UPDATE conflicts_predicate SET newer_wins = true WHERE policy = 'newest';
    ALTER TABLE conflicts_predicate ALTER COLUMN newer_wins DROP DEFAULT, DROP COLUMN policy;
"""


class Migration(migrations.Migration):
    """One column for another, with the history that it has."""

    dependencies = [("conflicts", "0002_promises"), ("memories", "0011_external_keys")]

    operations = [
        *(
            pgtrigger.migrations.RemoveTrigger(model_name="predicate", name=name)
            for name in ("insert_insert", "update_update", "delete_delete")
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(FORWARD, BACKWARD)],
            state_operations=[
                operation
                for model in ("predicate", "predicateevent")
                for operation in (
                    migrations.RemoveField(model_name=model, name="newer_wins"),
                    migrations.AddField(model_name=model, name="policy", field=POLICY.clone()),
                )
            ],
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="predicate",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_predicateevent" ("exclusive", "id", "namespace_id", "normaliser", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy", "project_id", "revision") SELECT new_values."exclusive", new_values."id", new_values."namespace_id", new_values."normaliser", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."policy", new_values."project_id", new_values."revision" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="96b06f901a2b318e5e7deca8492c8a3c063eadf9",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_483d0",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="conflicts_predicate",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="predicate",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_predicateevent" ("exclusive", "id", "namespace_id", "normaliser", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy", "project_id", "revision") SELECT new_values."exclusive", new_values."id", new_values."namespace_id", new_values."normaliser", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."policy", new_values."project_id", new_values."revision" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."exclusive" IS DISTINCT FROM (new_values."exclusive") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."normaliser" IS DISTINCT FROM (new_values."normaliser") OR old_values."policy" IS DISTINCT FROM (new_values."policy") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."revision" IS DISTINCT FROM (new_values."revision")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="2dfb5962866fc7b7579d6da4136d6fc37a5ab064",
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
            model_name="predicate",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_predicateevent" ("exclusive", "id", "namespace_id", "normaliser", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "policy", "project_id", "revision") SELECT old_values."exclusive", old_values."id", old_values."namespace_id", old_values."normaliser", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."policy", old_values."project_id", old_values."revision" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="3211e64e0b39d6eca7e73f74f47fc9a418b86479",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_5d3c0",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="conflicts_predicate",
                    when="AFTER",
                ),
            ),
        ),
        migrations.RunSQL(
            TRIGGER_FUNCTIONS.format(app="conflicts", security=PINNED),
            TRIGGER_FUNCTIONS.format(app="conflicts", security=PINNED),
        ),
        migrations.AddConstraint(
            model_name="predicate",
            constraint=models.CheckConstraint(
                condition=models.Q(("policy__in", ["review", "newest", "keep_both"])), name="predicate_policy"
            ),
        ),
    ]
