"""Decisions from before rulings were kept get them, in every project."""

from typing import Any

from django.db import migrations

from conflicts.former import create_missing_rulings


def rule(apps: Any, schema_editor: Any) -> None:
    """Project by project, for row-level security binds the owner too."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id, salt FROM memories_project ORDER BY id")
        for project_id, salt in cursor.fetchall():
            cursor.execute("SELECT set_config('nova.project', %s, true)", [str(project_id)])
            create_missing_rulings(project_id, bytes(salt), using=schema_editor.connection.alias)
        cursor.execute("SELECT set_config('nova.project', '', true)")


class Migration(migrations.Migration):
    """Taken back with the table of rulings."""

    dependencies = [("conflicts", "0006_built_in_names")]

    operations = [migrations.RunPython(rule, migrations.RunPython.noop)]
