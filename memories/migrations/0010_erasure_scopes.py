"""Erasures bar a text in the namespace where it was forgotten; those of before go on barring it in the whole project."""

from django.db import migrations, models

from memories.migrations._promises import history_by_triggers
from memories.migrations._sql import sql_of

BEFORE = sql_of(__file__, "before")
SCOPED = BEFORE.format(scope="AND (e.namespace_id IS NULL OR e.namespace_id = NEW.namespace_id)")
UNSCOPED = BEFORE.format(scope="")
# Of one memory and text one was enough.
ONCE = """
    ALTER TABLE memories_erasure NO FORCE ROW LEVEL SECURITY;
    DELETE FROM memories_erasure a USING memories_erasure b WHERE a.project_id = b.project_id
        AND a.fingerprint = b.fingerprint AND a.fragment_id = b.fragment_id AND (a.authority, a.id) < (b.authority, b.id);
    ALTER TABLE memories_erasure FORCE ROW LEVEL SECURITY;
"""


class Migration(migrations.Migration):
    """Where an erasure bars its text."""

    dependencies = [
        ("memories", "0009_may_read_wide"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, history_by_triggers("memories")),
        migrations.RemoveConstraint(
            model_name="erasure",
            name="erasure_once",
        ),
        migrations.AddField(
            model_name="erasure",
            name="namespace_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="erasureevent",
            name="namespace_id",
            field=models.UUIDField(null=True),
        ),
        migrations.AddConstraint(
            model_name="erasure",
            constraint=models.UniqueConstraint(
                fields=("project", "fingerprint", "fragment_id", "namespace_id"),
                name="erasure_once",
                nulls_distinct=False,
            ),
        ),
        migrations.RunSQL(migrations.RunSQL.noop, ONCE),
        migrations.RunSQL(SCOPED, UNSCOPED),
        migrations.RunSQL(history_by_triggers("memories"), migrations.RunSQL.noop),
    ]
