"""A project's own rates: how fast its memories fade, and what they weigh."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column."""

    dependencies = [("memories", "0033_password_resets")]

    operations = [
        migrations.AddField(
            model_name="project",
            name="rates",
            field=models.JSONField(blank=True, default=dict, db_default={}, editable=False),
        ),
    ]
