"""Names that further spellings of one key and the built-in rules give: claims, conflicts and rulings take them."""

from typing import Any

from django.db import migrations
from django.utils import timezone

from conflicts.renames import rename_standing


def rename(apps: Any, schema_editor: Any) -> None:
    """Project by project, for row-level security binds the owner too."""
    using, now = schema_editor.connection.alias, timezone.now()
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT id FROM memories_project ORDER BY id")
        for (project_id,) in cursor.fetchall():
            cursor.execute(
                "SELECT set_config('nova.project', %s, true), set_config('nova.users', '*', true)", [str(project_id)]
            )
            rename_standing(apps, project_id, using=using, now=now)
        cursor.execute("SELECT set_config('nova.project', '', true), set_config('nova.users', '', true)")


class Migration(migrations.Migration):
    """Back again there is nothing to do: whoever goes back names them by the rules of then when they change."""

    dependencies = [("conflicts", "0008_claims_of_conflicts")]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop)]
