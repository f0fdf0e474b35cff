"""Reporters of tasks: whose a task's last report is, so that containments reach it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column."""

    dependencies = [("memories", "0042_authorizations")]

    operations = [migrations.AddField("task", "key_id", models.UUIDField(null=True))]
