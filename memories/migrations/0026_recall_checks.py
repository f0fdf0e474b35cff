"""Recall checks: what a project expects its memory to answer, and how their runs went."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from memories.migrations._promises import tenant_tables, undo_tenant_tables

REFERENCES = {
    "memories_recallcheck": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_recallrun": {"namespace_id": ("memories_namespace", "CASCADE")},
}


class Migration(migrations.Migration):
    """Two tables."""

    dependencies = [
        ("memories", "0025_erasures_bar_new_words"),
    ]

    operations = [
        migrations.CreateModel(
            name="RecallCheck",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("question", models.CharField(max_length=1000)),
                (
                    "expects",
                    models.CharField(
                        choices=[("memory", "Memory"), ("text", "Text"), ("value", "Value")], max_length=16
                    ),
                ),
                ("fragment_id", models.UUIDField(null=True)),
                ("expected", models.CharField(blank=True, max_length=1000)),
                ("top_k", models.PositiveSmallIntegerField(default=10)),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("passed", models.BooleanField(null=True)),
                ("place", models.PositiveSmallIntegerField(null=True)),
                ("run_at", models.DateTimeField(null=True)),
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "id"), name="recall_check_project_id"),
                    models.UniqueConstraint(fields=("project", "namespace", "name"), name="recall_check_name"),
                    models.CheckConstraint(
                        condition=models.Q(("expects__in", ["memory", "text", "value"])), name="recall_check_expects"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("top_k__gte", 1), ("top_k__lte", 100)), name="recall_check_top_k"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("name", ""), _negated=True), models.Q(("question", ""), _negated=True)
                        ),
                        name="recall_check_asks",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("expected", ""), ("expects", "memory"), ("fragment_id__isnull", False)),
                            models.Q(
                                models.Q(("expects", "memory"), _negated=True),
                                ("fragment_id__isnull", True),
                                models.Q(("expected", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="recall_check_expected",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RecallRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("asked", "Asked"),
                            ("consolidation", "Consolidation"),
                            ("merge", "Merge"),
                            ("model", "Model"),
                            ("restore", "Restore"),
                        ],
                        max_length=16,
                    ),
                ),
                ("operation_id", models.UUIDField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("took_ms", models.PositiveIntegerField()),
                ("passed", models.PositiveIntegerField()),
                (
                    "failed",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                (
                    "lost",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
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
                "indexes": [models.Index(fields=["project", "-created_at", "-id"], name="recall_run_pages")],
                "constraints": [
                    models.UniqueConstraint(fields=("project", "id"), name="recall_run_project_id"),
                    models.CheckConstraint(
                        condition=models.Q(("cause__in", ["asked", "consolidation", "merge", "model", "restore"])),
                        name="recall_run_cause",
                    ),
                ],
            },
        ),
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
    ]
