"""Names that encodings, word order, slips and synonyms give: claims, conflicts and rulings take them."""

import importlib

from django.db import migrations

further_spellings = importlib.import_module("conflicts.migrations.0010_further_spellings")


class Migration(migrations.Migration):
    """Back again there is nothing to do: whoever goes back names them by the rules of then when they change."""

    dependencies = [("conflicts", "0011_history_of_powers")]

    operations = [migrations.RunPython(further_spellings.rename, migrations.RunPython.noop)]
