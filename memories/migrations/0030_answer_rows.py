"""What answers show of fragments, by a function whose plan the database keeps."""

from django.db import migrations

from memories.migrations._sql import sql_of


class Migration(migrations.Migration):
    """A function."""

    dependencies = [("memories", "0029_project_thresholds"), ("conflicts", "0014_names_in_markup")]

    operations = [migrations.RunSQL(sql_of(__file__, "function"), "DROP FUNCTION nova_answer_rows")]
