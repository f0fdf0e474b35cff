"""Memories may bear a key of their caller's, once in a namespace, which never changes."""

from django.db import migrations, models

FIXED = """
    CREATE TRIGGER fragment_key_fixed BEFORE UPDATE OF key ON memories_fragment FOR EACH ROW
        WHEN (NEW.key <> OLD.key) EXECUTE FUNCTION nova_never_changes();
"""
UNDO_FIXED = "DROP TRIGGER fragment_key_fixed ON memories_fragment;"


class Migration(migrations.Migration):
    """The column, its uniqueness, and that it stays."""

    dependencies = [("memories", "0010_erasure_scopes")]

    operations = [
        migrations.AddField(
            model_name="fragment",
            name="key",
            field=models.CharField(blank=True, db_default="", default="", max_length=512),
        ),
        migrations.AddConstraint(
            model_name="fragment",
            constraint=models.UniqueConstraint(
                condition=models.Q(("key", ""), _negated=True),
                fields=("project", "namespace", "key"),
                name="fragment_key",
            ),
        ),
        migrations.RunSQL(FIXED, UNDO_FIXED),
    ]
