"""Rulings: what decisions leave on keys, with what the database promises of them."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memories.models.tenant
from memories.migrations._promises import (
    References,
    event_tables,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
)
from memories.migrations._sql import sql_of

REFERENCES: References = {
    "conflicts_ruling": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "conflict_id": ("conflicts_pendingconflict", "SET NULL (conflict_id)"),
        "fragment_id": ("memories_fragment", "SET NULL (fragment_id)"),
        "replaced_by_id": ("conflicts_ruling", "SET NULL (replaced_by_id)"),
    }
}
EVENTS = ["conflicts_rulingevent"]
# What a former decision was about: rejected values are ruled out; what was chosen and stands is chosen; where it was
# overwritten since, the chosen and what stands now wait as a conflict. `newest` are the digests of built-in predicates
# that the newest value answers. Run again it finds nothing to do. A rule of the namespace is read as JSON, so that its
# columns may change.
FORMER = sql_of(__file__, "former")


class Migration(migrations.Migration):
    """The table, its history, and how decisions from before get rulings."""

    dependencies = [
        ("conflicts", "0004_repetitions"),
        ("memories", "0011_external_keys"),
    ]

    operations = [
        migrations.CreateModel(
            name="Ruling",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("subject_digest", models.BinaryField(default=b"", max_length=32)),
                ("predicate_digest", models.BinaryField(default=b"", max_length=32)),
                ("key_digest", models.BinaryField(default=b"", max_length=32)),
                ("scope", models.CharField(blank=True, max_length=16)),
                ("session_id", models.CharField(blank=True, max_length=255)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                (
                    "chosen",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "ruled_out",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "chosen_fragments",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                (
                    "ruled_out_fragments",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("authority", models.SmallIntegerField()),
                ("decided_by", models.UUIDField(null=True)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("edited", models.BooleanField(default=False)),
                ("repeats", models.PositiveIntegerField(default=0)),
                ("repeated_at", models.DateTimeField(null=True)),
                (
                    "conflict",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="rulings",
                        to="conflicts.pendingconflict",
                    ),
                ),
                (
                    "fragment",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.fragment",
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.namespace",
                    ),
                ),
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
                (
                    "replaced_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="conflicts.ruling",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RulingEvent",
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
                ("key_digest", models.BinaryField(default=b"", max_length=32)),
                (
                    "chosen",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "ruled_out",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("authority", models.SmallIntegerField()),
                ("decided_by", models.UUIDField(null=True)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("edited", models.BooleanField(default=False)),
                ("repeats", models.PositiveIntegerField(default=0)),
                (
                    "conflict",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="conflicts.pendingconflict",
                    ),
                ),
                (
                    "fragment",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="memories.fragment",
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="memories.namespace",
                    ),
                ),
                (
                    "pgh_obj",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        related_query_name="events",
                        to="conflicts.ruling",
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
                (
                    "replaced_by",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="conflicts.ruling",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(
                condition=models.Q(("replaced_by", None)),
                fields=["project", "namespace", "key_digest"],
                name="ruling_by_key",
            ),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "namespace", "-decided_at", "-id"], name="ruling_pages"),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "conflict"], name="ruling_by_conflict"),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "replaced_by"], name="ruling_by_successor"),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "fragment"], name="ruling_by_fragment"),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.UniqueConstraint(fields=("project", "id"), name="ruling_project_id"),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.CheckConstraint(
                condition=models.Q(("authority__gte", 1), ("authority__lte", 6)), name="ruling_authority"
            ),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_from__isnull", True),
                    ("valid_until__isnull", True),
                    ("valid_until__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="ruling_period_forward",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out") SELECT new_values."authority", new_values."chosen", new_values."conflict_id", new_values."decided_at", new_values."decided_by", new_values."edited", new_values."fragment_id", new_values."id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."repeats", new_values."replaced_by_id", new_values."ruled_out" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="92e9d35cc1dfde8208ea0bf74a69bdaec92c332d",
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
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out") SELECT new_values."authority", new_values."chosen", new_values."conflict_id", new_values."decided_at", new_values."decided_by", new_values."edited", new_values."fragment_id", new_values."id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."repeats", new_values."replaced_by_id", new_values."ruled_out" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."chosen" IS DISTINCT FROM (new_values."chosen") OR old_values."conflict_id" IS DISTINCT FROM (new_values."conflict_id") OR old_values."decided_at" IS DISTINCT FROM (new_values."decided_at") OR old_values."decided_by" IS DISTINCT FROM (new_values."decided_by") OR old_values."edited" IS DISTINCT FROM (new_values."edited") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."key_digest" IS DISTINCT FROM (new_values."key_digest") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."repeats" IS DISTINCT FROM (new_values."repeats") OR old_values."replaced_by_id" IS DISTINCT FROM (new_values."replaced_by_id") OR old_values."ruled_out" IS DISTINCT FROM (new_values."ruled_out")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="36ff5642731940e645ea7bc2d0b00a7c8f3300c7",
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
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out") SELECT old_values."authority", old_values."chosen", old_values."conflict_id", old_values."decided_at", old_values."decided_by", old_values."edited", old_values."fragment_id", old_values."id", old_values."key_digest", old_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."repeats", old_values."replaced_by_id", old_values."ruled_out" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="f2f5ceeb9331f65612f1639c4781cea91bf6ee64",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_e5f95",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="rulingevent",
            index=models.Index(fields=["project", "recorded_in", "pgh_id"], name="ruling_event_order"),
        ),
        migrations.AddIndex(
            model_name="rulingevent",
            index=models.Index(fields=["pgh_obj", "pgh_id"], name="ruling_event_before"),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="rulingevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="7d28f76e973c0666fffb0006bbb09aa35e105f6b",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_0e25e",
                    table="conflicts_rulingevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(event_tables(EVENTS, app="conflicts"), undo_event_tables(EVENTS, app="conflicts")),
        migrations.RunSQL(FORMER, "DROP FUNCTION nova_rule_on_former_decisions;"),
    ]
