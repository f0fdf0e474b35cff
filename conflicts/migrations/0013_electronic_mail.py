"""What else an e-mail address is called: claims, conflicts and rulings take its name."""

import importlib

from django.db import migrations

further_spellings = importlib.import_module("conflicts.migrations.0010_further_spellings")


class Migration(migrations.Migration):
    """Back again there is nothing to do: whoever goes back names them by the rules of then when they change."""

    dependencies = [("conflicts", "0012_names_a_reader_makes_out")]

    operations = [migrations.RunPython(further_spellings.rename, migrations.RunPython.noop)]
