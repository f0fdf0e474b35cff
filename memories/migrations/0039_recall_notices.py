"""Who was told something that no longer holds, by triggers on what changes; webhooks that tell of it."""

import uuid
from pathlib import Path
from typing import ClassVar

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import memories.models.tenant
from memories.migrations._promises import guard, reference, tenant_tables
from memories.migrations._sql import sql_of

NOTICES, WEBHOOKS = "memories_recallnotice", "memories_webhook"
TABLES = [
    # A receipt binds its notices to the project (0036).
    reference(NOTICES, "namespace_id", "memories_namespace", "CASCADE"),
    reference(NOTICES, "receipt_id", "memories_receipt", "CASCADE"),
    guard(NOTICES),
    *tenant_tables({WEBHOOKS: {"namespace_id": ("memories_namespace", "CASCADE")}}),
]
NUMBERED = "ALTER TABLE memories_recallnotice ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY;"
# Triggers alone write notices; forgetting deletes them, and takes out what superseded.
APPENDED = """
    REVOKE INSERT, UPDATE, TRUNCATE ON memories_recallnotice FROM nova_app;
    GRANT UPDATE (superseded_by) ON memories_recallnotice TO nova_app;
"""
UNNOTICED = """
    DROP TRIGGER fragment_notices ON memories_fragment;
    DROP TRIGGER claim_notices ON memories_claim;
    DROP FUNCTION nova_fragment_notices, nova_claim_notices, nova_notice_reason, nova_tell_receipts;
"""
FORMER = sql_of(str(Path(__file__).with_name("0032_workload.py")), "function").replace("CREATE", "CREATE OR REPLACE")
WORKLOAD = FORMER.replace("    END CASE;", f"{sql_of(__file__, 'webhooks')}    END CASE;")


class Migration(migrations.Migration):
    """Two tables, four functions and two triggers."""

    dependencies: ClassVar = [("memories", "0038_keywords_of_small_scopes")]

    operations: ClassVar = [
        migrations.CreateModel(
            name="RecallNotice",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("number", models.BigIntegerField(editable=False)),
                ("fragment_id", models.UUIDField()),
                ("claim_id", models.UUIDField(null=True)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("superseded", "Superseded"),
                            ("ruled_out", "Ruled Out"),
                            ("disputed", "Disputed"),
                            ("contained", "Contained"),
                            ("restored", "Restored"),
                        ],
                        max_length=16,
                    ),
                ),
                ("superseded_by", models.UUIDField(null=True)),
                ("key_id", models.UUIDField(null=True)),
                ("told_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "recorded_in",
                    memories.models.tenant.Xid8Field(db_default=memories.models.tenant.Current(), editable=False),
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
                    "receipt",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.receipt",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project", "-created_at", "-id"], name="recall_notice_pages"),
                    models.Index(fields=["project", "recorded_in", "number"], name="recall_notice_order"),
                    models.Index(
                        fields=["project", "receipt", "fragment_id", "number"], name="recall_notice_by_receipt"
                    ),
                    models.Index(fields=["project", "fragment_id"], name="recall_notice_by_fragment"),
                    models.Index(
                        condition=models.Q(("superseded_by__isnull", False)),
                        fields=["project", "superseded_by"],
                        name="recall_notice_by_successor",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "id"), name="recall_notice_project_id"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("reason__in", ["superseded", "ruled_out", "disputed", "contained", "restored"])
                        ),
                        name="recall_notice_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("url", models.CharField(max_length=2000)),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None),
                ),
                ("salt", models.BinaryField(max_length=16)),
                ("enabled", models.BooleanField(default=True)),
                ("mark", models.CharField(max_length=200)),
                ("upto", memories.models.tenant.Xid8Field()),
                ("not_before", models.DateTimeField(default=django.utils.timezone.now)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_error", models.CharField(blank=True, max_length=200)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "id"), name="webhook_project_id"),
                    models.CheckConstraint(condition=models.Q(("kinds__len__gte", 1)), name="webhook_kinds"),
                ],
            },
        ),
        migrations.RunSQL([*TABLES, NUMBERED, APPENDED], migrations.RunSQL.noop),
        migrations.RunSQL(sql_of(__file__, "functions"), UNNOTICED),
        migrations.RunSQL(WORKLOAD, FORMER),
    ]
