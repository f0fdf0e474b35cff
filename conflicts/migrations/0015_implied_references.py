"""What hangs on a row of its project needs no reference to the project besides, as with memories."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import implied_references

IMPLIED = ("pendingconflict", "predicate", "repetition", "reservation", "ruling", "vote")


class Migration(migrations.Migration):
    """One check less for each row that comes."""

    dependencies: ClassVar = [("conflicts", "0014_names_in_markup")]

    operations: ClassVar = [migrations.RunSQL(*implied_references("conflicts", IMPLIED))]
