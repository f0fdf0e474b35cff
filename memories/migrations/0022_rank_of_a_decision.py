"""Decisions on proposals keep the rank that their person had: a weaker reviewer does not take them back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """One column; decisions of before have none, and bind nobody by rank."""

    dependencies = [("memories", "0021_rights_of_the_app")]

    operations = [migrations.AddField("proposal", "decided_rank", models.SmallIntegerField(null=True))]
