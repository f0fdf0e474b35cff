"""Names that the larger built-in registry gives: 0010 names what stands anew, for the spelling too."""

from django.db import migrations


class Migration(migrations.Migration):
    """Nothing is done here any more."""

    dependencies = [("conflicts", "0005_rulings"), ("memories", "0012_history_of_new_columns")]

    operations = []
