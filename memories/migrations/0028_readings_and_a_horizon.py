"""Readings of the whole installation for /metrics, and history that may be let go, up to a signed horizon."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import memories.models.tenant
from memories.migrations._promises import tenant_tables, undo_tenant_tables
from memories.migrations._sql import sql_of

REFERENCES = {"memories_audithorizon": {}}
UNREAD = "DROP FUNCTION nova_readings; DROP FUNCTION nova_let_history_go; DROP FUNCTION nova_let_lost_history_go;"


class Migration(migrations.Migration):
    """A table and three functions."""

    dependencies = [
        ("memories", "0027_bulk_writes"),
        ("conflicts", "0014_names_in_markup"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditHorizon",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("upto", memories.models.tenant.Xid8Field()),
                ("sealed_at", models.DateTimeField()),
                ("digest", models.BinaryField(max_length=32)),
                ("events", models.PositiveIntegerField()),
                ("kept", models.BinaryField(max_length=32)),
                ("signature", models.BinaryField(max_length=64)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                    models.UniqueConstraint(fields=("project", "id"), name="audit_horizon_project_id"),
                    models.UniqueConstraint(fields=("project",), name="audit_horizon_once"),
                ],
            },
        ),
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL([sql_of(__file__, "history"), sql_of(__file__, "readings")], UNREAD),
    ]
