"""How often an owner said again what it had said, which adds no row."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

from memories.migrations._promises import References, tenant_tables, undo_tenant_tables

REFERENCES: References = {"conflicts_repetition": {"fragment_id": ("memories_fragment", "CASCADE")}}


class Migration(migrations.Migration):
    """The table, its reference and row-level security."""

    dependencies = [
        ("conflicts", "0003_policies"),
        ("memories", "0011_external_keys"),
    ]

    operations = [
        migrations.CreateModel(
            name="Repetition",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("times", models.PositiveIntegerField()),
                ("last_at", models.DateTimeField()),
                (
                    "fragment",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="repetitions",
                        to="memories.fragment",
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
                    models.UniqueConstraint(fields=("project", "id"), name="repetition_project_id"),
                    models.UniqueConstraint(fields=("project", "fragment"), name="repetition_once"),
                ],
            },
        ),
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
    ]
