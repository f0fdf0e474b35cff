"""Containments: what was set aside at once, and what to do to take it back."""

import uuid

import django.db.models.deletion
import django.db.models.lookups
import django.utils.timezone
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memories.models.tenant
from memories.migrations._promises import (
    References,
    event_tables,
    in_module,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
)

REFERENCES: References = {"memories_containment": {}}
EVENTS = ["memories_containmentevent"]
FORMER = in_module("0039_recall_notices").WORKLOAD
FOUND = "            OR EXISTS (SELECT FROM memories_{} e WHERE e.project_id = p.id AND e.recorded_in >= s.upto)\n"
BACKUPS = FOUND.format("backupevent")
# What is written into its history is sealed as all other.
WORKLOAD = FORMER.replace(BACKUPS, BACKUPS + FOUND.format("containmentevent"))


class Migration(migrations.Migration):
    """A table and its history."""

    dependencies = [
        ("memories", "0039_recall_notices"),
    ]

    operations = [
        migrations.CreateModel(
            name="Containment",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("key", "Key"), ("owner", "Owner"), ("source", "Source"), ("content", "Content")],
                        max_length=16,
                    ),
                ),
                ("target_id", models.UUIDField(null=True)),
                ("since", models.DateTimeField(null=True)),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("written", models.PositiveIntegerField()),
                ("report", models.JSONField()),
                ("journal", models.JSONField()),
                ("applied_by", models.UUIDField(null=True)),
                ("applied_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("undone_by", models.UUIDField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ContainmentEvent",
            fields=[
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "recorded_in",
                    memories.models.tenant.Xid8Field(db_default=memories.models.tenant.Current(), editable=False),
                ),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("pgh_context_id", models.UUIDField(null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("key", "Key"), ("owner", "Owner"), ("source", "Source"), ("content", "Content")],
                        max_length=16,
                    ),
                ),
                ("target_id", models.UUIDField(null=True)),
                ("since", models.DateTimeField(null=True)),
                ("written", models.PositiveIntegerField()),
                ("applied_by", models.UUIDField(null=True)),
                ("applied_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("undone_by", models.UUIDField(null=True)),
                ("undone_at", models.DateTimeField(null=True)),
                (
                    "pgh_obj",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        related_query_name="events",
                        to="memories.containment",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="memories.project",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddIndex(
            model_name="containment",
            index=models.Index(fields=["project", "-applied_at", "-id"], name="containment_pages"),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.UniqueConstraint(fields=("project", "id"), name="containment_project_id"),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["key", "owner", "source", "content"])), name="containment_kind"
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("kind__in", ["key", "owner"]), ("target_id__isnull", False)),
                    models.Q(("kind__in", ["source", "content"]), ("target_id__isnull", True)),
                    _connector="OR",
                ),
                name="containment_target",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(models.F("report"), function="jsonb_typeof", output_field=models.TextField()),
                    models.Value("object"),
                ),
                name="containment_report_object",
            ),
        ),
        migrations.AddConstraint(
            model_name="containment",
            constraint=models.CheckConstraint(
                condition=django.db.models.lookups.Exact(
                    models.Func(models.F("journal"), function="jsonb_typeof", output_field=models.TextField()),
                    models.Value("object"),
                ),
                name="containment_journal_object",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containment",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_containmentevent" ("applied_at", "applied_by", "id", "kind", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "since", "target_id", "undone_at", "undone_by", "written") SELECT new_values."applied_at", new_values."applied_by", new_values."id", new_values."kind", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."since", new_values."target_id", new_values."undone_at", new_values."undone_by", new_values."written" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="bc913ccb345ab48221f40dddf147215c5e5ad3af",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_6d4b6",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_containment",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containment",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_containmentevent" ("applied_at", "applied_by", "id", "kind", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "since", "target_id", "undone_at", "undone_by", "written") SELECT new_values."applied_at", new_values."applied_by", new_values."id", new_values."kind", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."since", new_values."target_id", new_values."undone_at", new_values."undone_by", new_values."written" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."applied_at" IS DISTINCT FROM (new_values."applied_at") OR old_values."applied_by" IS DISTINCT FROM (new_values."applied_by") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."kind" IS DISTINCT FROM (new_values."kind") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."since" IS DISTINCT FROM (new_values."since") OR old_values."target_id" IS DISTINCT FROM (new_values."target_id") OR old_values."undone_at" IS DISTINCT FROM (new_values."undone_at") OR old_values."undone_by" IS DISTINCT FROM (new_values."undone_by") OR old_values."written" IS DISTINCT FROM (new_values."written")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="aa62224ffbe24b8d51e0404b6b5e081656ce62df",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_8bdc7",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_containment",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containment",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_containmentevent" ("applied_at", "applied_by", "id", "kind", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "since", "target_id", "undone_at", "undone_by", "written") SELECT old_values."applied_at", old_values."applied_by", old_values."id", old_values."kind", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."since", old_values."target_id", old_values."undone_at", old_values."undone_by", old_values."written" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="0414277bd9ca5f30e89bd7a383b00b8d0eabae33",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_d39fc",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_containment",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="containmentevent",
            index=models.Index(fields=["project", "recorded_in", "pgh_id"], name="containment_event_order"),
        ),
        migrations.AddIndex(
            model_name="containmentevent",
            index=models.Index(fields=["pgh_obj", "pgh_id"], name="containment_event_before"),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="containmentevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="baa8894716bef7ec58af02b835c39fca827aee33",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_0cb39",
                    table="memories_containmentevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(event_tables(EVENTS, app="memories"), undo_event_tables(EVENTS, app="memories")),
        migrations.RunSQL(WORKLOAD, FORMER),
    ]
