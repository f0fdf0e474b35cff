"""Rollbacks: recall checks are asked before and after one, as before and after a merge."""

from django.db import migrations, models

CAUSES = [
    ("asked", "Asked"),
    ("consolidation", "Consolidation"),
    ("merge", "Merge"),
    ("model", "Model"),
    ("restore", "Restore"),
    ("rollback", "Rollback"),
]


class Migration(migrations.Migration):
    """One cause more."""

    dependencies = [("memories", "0040_containments")]

    operations = [
        migrations.RemoveConstraint(model_name="recallrun", name="recall_run_cause"),
        migrations.AlterField(
            model_name="recallrun",
            name="cause",
            field=models.CharField(choices=CAUSES, max_length=16),
        ),
        migrations.AddConstraint(
            model_name="recallrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("cause__in", [cause for cause, _ in CAUSES])), name="recall_run_cause"
            ),
        ),
    ]
