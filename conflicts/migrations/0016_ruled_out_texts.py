"""Rulings keep by which fingerprints the texts that they ruled out are known, whatever becomes of these."""

from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

from memories.migrations._sql import sql_of


def fill(apps: Any, schema_editor: Any) -> None:
    """Project by project, for row-level security binds the owner too."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM memories_project ORDER BY id")
        for (project_id,) in cursor.fetchall():
            cursor.execute("SELECT set_config('nova.project', %s, true)", [str(project_id)])
            cursor.execute("SELECT nova_print_ruled_out(%s, NULL)", [project_id])
        cursor.execute("SELECT set_config('nova.project', '', true)")


class Migration(migrations.Migration):
    """Filled in by the texts as they stand now."""

    dependencies: ClassVar = [("conflicts", "0015_implied_references"), ("memories", "0036_implied_references")]

    operations: ClassVar = [
        migrations.AddField(
            "ruling",
            "ruled_out_prints",
            ArrayField(models.CharField(max_length=64), db_default=[], default=list),
        ),
        migrations.RunSQL(sql_of(__file__, "function"), "DROP FUNCTION nova_print_ruled_out"),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
