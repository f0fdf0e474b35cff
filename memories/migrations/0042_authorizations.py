"""Authorizations: what people let their clients do by OAuth."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from memories.migrations._promises import guard, reference, unguard

TABLE = "memories_authorization"
PROMISES = [reference(TABLE, "key_id", "memories_apikey", "CASCADE"), guard(TABLE)]
UNDO = [unguard(TABLE), f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_key_id_fk;"]
REFERENCE = {
    "db_constraint": False,
    "db_index": False,
    "on_delete": django.db.models.deletion.DO_NOTHING,
    "related_name": "+",
}


class Migration(migrations.Migration):
    """A table."""

    dependencies = [("memories", "0041_rollbacks")]

    operations = [
        migrations.CreateModel(
            name="Authorization",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("user_id", models.IntegerField()),
                ("client_id", models.TextField()),
                ("client_name", models.CharField(max_length=100)),
                ("refreshes", models.PositiveIntegerField(default=0)),
                ("refreshed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("key", models.ForeignKey(to="memories.apikey", **REFERENCE)),
                ("project", models.ForeignKey(to="memories.project", **REFERENCE)),
            ],
        ),
        migrations.AddConstraint(
            model_name="authorization",
            constraint=models.UniqueConstraint(fields=("project", "id"), name="authorization_project_id"),
        ),
        migrations.AddConstraint(
            model_name="authorization",
            constraint=models.UniqueConstraint(fields=("project", "key"), name="authorization_once"),
        ),
        migrations.RunSQL(PROMISES, UNDO),
    ]
