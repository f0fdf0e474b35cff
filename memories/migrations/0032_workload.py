"""Where workers find something to do, by one function for all projects."""

from django.db import migrations

from memories.migrations._sql import sql_of


class Migration(migrations.Migration):
    """A function."""

    dependencies = [("memories", "0031_standing_instructions"), ("conflicts", "0014_names_in_markup")]

    operations = [migrations.RunSQL(sql_of(__file__, "function"), "DROP FUNCTION nova_workload")]
