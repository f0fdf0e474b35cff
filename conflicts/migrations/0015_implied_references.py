"""What hangs on a row of its project needs no reference to the project besides, as with memories."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import implied_references

IMPLIED = ("pendingconflict", "predicate", "repetition", "reservation", "ruling", "vote")


class Migration(migrations.Migration):
    """One check less for each row that comes."""

    # After the indexes that are built beside open transactions: this one waits for those that look at a project.
    dependencies: ClassVar = [("conflicts", "0014_names_in_markup"), ("memories", "0036_implied_references")]

    operations: ClassVar = [migrations.RunSQL(*implied_references("conflicts", IMPLIED))]
