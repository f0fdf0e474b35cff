"""What stands between the tags of a web page is a name without them: claims, conflicts and rulings take it."""

import importlib

from django.db import migrations

further_spellings = importlib.import_module("conflicts.migrations.0010_further_spellings")


class Migration(migrations.Migration):
    """Back again there is nothing to do: whoever goes back names them by the rules of then when they change."""

    dependencies = [("conflicts", "0013_electronic_mail")]

    operations = [migrations.RunPython(further_spellings.rename, migrations.RunPython.noop)]
