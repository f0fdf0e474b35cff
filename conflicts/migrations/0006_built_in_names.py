"""Names that the larger built-in registry gives: claims and conflicts that stand under them follow."""

from typing import Any

from django.db import migrations

from conflicts.naming import naming
from conflicts.rekeying import follow_built_in


def follow(apps: Any, schema_editor: Any) -> None:
    """Names the claims of each namespace anew."""
    claims = apps.get_model("memories", "Claim").objects.order_by()
    for project_id, namespace_id in claims.values_list("project_id", "namespace_id").distinct():
        follow_built_in(project_id, namespace_id, names=naming(project_id, [namespace_id])[namespace_id])


class Migration(migrations.Migration):
    """Back again there is nothing to do: whoever goes back names them by the rules of then when they change."""

    dependencies = [("conflicts", "0005_rulings"), ("memories", "0012_history_of_new_columns")]

    operations = [migrations.RunPython(follow, migrations.RunPython.noop)]
