"""A fragment holds several claims: each has an id, a place in the text and a verdict of its own."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._promises import history_by_triggers, in_module, recorded, reference, unrecorded
from memories.migrations._sql import sql_of

CLAIMS = sql_of(__file__, "claims")
UNDO_CLAIMS = sql_of(__file__, "undo_claims")
SUCCESSOR = reference("memories_claim", "superseded_by_id", "memories_fragment", "SET NULL (superseded_by_id)")
UNDO_SUCCESSOR = "ALTER TABLE memories_claim DROP CONSTRAINT memories_claim_superseded_by_id_fk;"

# An edge for each claim; what there is belongs to the first.
RELATIONS = """
    ALTER TABLE memories_relation ADD COLUMN claim_id uuid;
    UPDATE memories_relation SET claim_id = fragment_id;
    ALTER TABLE memories_relation ALTER COLUMN claim_id SET NOT NULL, DROP CONSTRAINT {key},
        ADD CONSTRAINT {key} PRIMARY KEY (project_id, claim_id);
    CREATE INDEX relation_by_fragment ON memories_relation (project_id, fragment_id);
"""
UNDO_RELATIONS = """
    DROP INDEX relation_by_fragment;
    DELETE FROM memories_relation WHERE claim_id <> fragment_id;
    ALTER TABLE memories_relation DROP CONSTRAINT {key}, ADD CONSTRAINT {key} PRIMARY KEY (project_id, fragment_id),
        DROP COLUMN claim_id;
"""
KEY = "memories_relation_pkey"

REACH = sql_of(__file__, "reach")


def of_one_claim() -> list[str]:
    """The functions and triggers as they were."""
    roots = in_module("0008_search_by_root")
    promises = in_module("0003_promises").TRIGGERS
    before = roots._function(promises, "nova_claim_before")
    triggers = promises[
        promises.index("CREATE TRIGGER claim_reach_new") : promises.index("CREATE FUNCTION nova_never_changes")
    ]
    return [
        """DROP TRIGGER fragment_spans ON memories_fragment; DROP FUNCTION nova_fragment_spans;
           DROP TRIGGER claim_status ON memories_claim; DROP TRIGGER claim_reach_new ON memories_claim;
           DROP TRIGGER claim_reach ON memories_claim; DROP TRIGGER claim_reach_gone ON memories_claim;""",
        before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1),
        *(
            roots._function(text.replace("CREATE OR REPLACE FUNCTION", "CREATE FUNCTION"), name).replace(
                "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1
            )
            for text, name in (
                (roots.FUNCTIONS, "nova_index_keywords"),
                (roots.TRIGGERS, "nova_fragment_status"),
                (roots.TRIGGERS, "nova_claim_reach"),
            )
        ),
        triggers,
        "DROP FUNCTION nova_reach;",
    ]


FRAGMENT = {"db_constraint": False, "db_index": False, "on_delete": django.db.models.deletion.DO_NOTHING}
STATE = [
    migrations.RemoveConstraint(model_name="claim", name="claim_project_id"),
    migrations.AlterField(
        model_name="claim",
        name="fragment",
        field=models.ForeignKey(related_name="claims", to="memories.fragment", **FRAGMENT),
    ),
    migrations.AddField(
        model_name="claim",
        name="id",
        field=models.UUIDField(default=None, editable=False, primary_key=True, serialize=False),
        preserve_default=False,
    ),
    migrations.AddField(model_name="claim", name="position", field=models.PositiveSmallIntegerField(default=0)),
    migrations.AddField(model_name="claim", name="span_end", field=models.PositiveIntegerField(null=True)),
    migrations.AddField(model_name="claim", name="span_start", field=models.PositiveIntegerField(null=True)),
    migrations.AddField(
        model_name="claim",
        name="superseded_by",
        field=models.ForeignKey(null=True, related_name="+", to="memories.fragment", **FRAGMENT),
    ),
    migrations.AddField(
        model_name="claim",
        name="verdict",
        field=models.CharField(
            blank=True,
            choices=[("quarantined", "Quarantined"), ("superseded", "Superseded"), ("archived", "Archived")],
            default="",
            max_length=16,
        ),
    ),
    migrations.AddIndex(
        model_name="claim",
        index=models.Index(
            condition=models.Q(("superseded_by__isnull", False)),
            fields=["project", "superseded_by"],
            name="claim_by_successor",
        ),
    ),
    migrations.AddConstraint(
        model_name="claim", constraint=models.UniqueConstraint(fields=("project", "id"), name="claim_project_id")
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.UniqueConstraint(fields=("project", "fragment", "position"), name="claim_position"),
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.CheckConstraint(
            condition=models.Q(("position__gte", 0), ("position__lte", 19)), name="claim_among_others"
        ),
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.CheckConstraint(
            condition=models.Q(("verdict__in", ["", "quarantined", "superseded", "archived"])), name="claim_verdict"
        ),
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.CheckConstraint(
            condition=models.Q(
                models.Q(("span_end__isnull", True), ("span_start__isnull", True)),
                ("span_start__lt", models.F("span_end")),
                _connector="OR",
            ),
            name="claim_span",
        ),
    ),
]
RELATION_STATE = [
    migrations.AddField(
        model_name="relation", name="claim_id", field=models.UUIDField(default=None), preserve_default=False
    ),
    migrations.AlterField(
        model_name="relation",
        name="pk",
        field=models.CompositePrimaryKey(
            "project_id", "claim_id", blank=True, editable=False, primary_key=True, serialize=False
        ),
    ),
    migrations.AddIndex(
        model_name="relation",
        index=models.Index(fields=["project", "fragment"], name="relation_by_fragment"),
    ),
]
HISTORY = ("insert_insert", "update_update", "delete_delete")


class Migration(migrations.Migration):
    """Columns, keys, constraints, triggers; the history knows a claim by its id."""

    dependencies = [("memories", "0012_history_of_new_columns")]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, history_by_triggers("memories")),
        *(pgtrigger.migrations.RemoveTrigger(model_name="claim", name=name) for name in HISTORY),
        migrations.RunSQL(unrecorded("memories_claim"), recorded("memories_claim", "fragment_id", "fragment_id")),
        migrations.RunSQL([CLAIMS, SUCCESSOR], [UNDO_SUCCESSOR, UNDO_CLAIMS], state_operations=STATE),
        migrations.RunSQL(RELATIONS.format(key=KEY), UNDO_RELATIONS.format(key=KEY), state_operations=RELATION_STATE),
        migrations.AlterField(
            model_name="claimevent",
            name="fragment",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="memories.fragment",
            ),
        ),
        migrations.RunSQL(REACH, of_one_claim()),
        migrations.RunSQL(recorded("memories_claim", "id", "fragment_id"), unrecorded("memories_claim")),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT new_values."authority", new_values."exclusive", new_values."fragment_id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."predicate_digest", new_values."project_id", new_values."scope", new_values."slot", new_values."status", new_values."subject_digest", new_values."valid_from", new_values."valid_until", new_values."value_digest" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="6ea0dc7644af83f4b8ad4a767051d8da01cd62c8",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_97a9c",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT new_values."authority", new_values."exclusive", new_values."fragment_id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."predicate_digest", new_values."project_id", new_values."scope", new_values."slot", new_values."status", new_values."subject_digest", new_values."valid_from", new_values."valid_until", new_values."value_digest" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."exclusive" IS DISTINCT FROM (new_values."exclusive") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."key_digest" IS DISTINCT FROM (new_values."key_digest") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."predicate_digest" IS DISTINCT FROM (new_values."predicate_digest") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."scope" IS DISTINCT FROM (new_values."scope") OR old_values."slot" IS DISTINCT FROM (new_values."slot") OR old_values."status" IS DISTINCT FROM (new_values."status") OR old_values."subject_digest" IS DISTINCT FROM (new_values."subject_digest") OR old_values."valid_from" IS DISTINCT FROM (new_values."valid_from") OR old_values."valid_until" IS DISTINCT FROM (new_values."valid_until") OR old_values."value_digest" IS DISTINCT FROM (new_values."value_digest")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="98e02d0ae4843e779755c16329286c9218eab427",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_cf593",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT old_values."authority", old_values."exclusive", old_values."fragment_id", old_values."key_digest", old_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."predicate_digest", old_values."project_id", old_values."scope", old_values."slot", old_values."status", old_values."subject_digest", old_values."valid_from", old_values."valid_until", old_values."value_digest" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="93f6f25b7d7e569b0084f89ddc88e11cfbdfd4ca",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_8be05",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        migrations.RunSQL(history_by_triggers("memories"), migrations.RunSQL.noop),
    ]
