"""A project's own thresholds of upkeep."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column."""

    dependencies = [("memories", "0028_readings_and_a_horizon")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="thresholds",
            field=models.JSONField(blank=True, default=dict, db_default={}, editable=False),
        ),
    ]
