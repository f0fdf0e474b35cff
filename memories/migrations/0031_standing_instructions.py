"""Standing instructions are found by an index of their own."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """An index of few rows; writers go on while it is built."""

    atomic = False

    dependencies = [("memories", "0030_answer_rows")]

    operations = [
        AddIndexConcurrently(
            model_name="fragment",
            index=models.Index(
                condition=models.Q(("extra__has_key", "standing_instruction")),
                fields=["project", "namespace"],
                name="fragment_instructions",
            ),
        ),
    ]
