"""Reading all of a project becomes a right of its own; keys from before do without it."""

from django.db import migrations, models

from memories.migrations._promises import event_tables, key_lookup

LOOKUP = {"users": "text", "user_patterns": "text[]"}
# Triggers that are made anew write history as the owner again, whichever way this runs.
PINNED = event_tables([], app="memories")


class Migration(migrations.Migration):
    """The column, in the history too, and the look-up that answers it."""

    dependencies = [
        ("memories", "0008_search_by_root"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, PINNED),
        migrations.AddField(
            model_name="grant",
            name="may_read_wide",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="grantevent",
            name="may_read_wide",
            field=models.BooleanField(default=False),
        ),
        migrations.RunSQL(PINNED, migrations.RunSQL.noop),
        migrations.RunSQL(key_lookup(**LOOKUP, may_read_wide="boolean"), key_lookup(**LOOKUP)),
    ]
