"""What of the upstream a key may use beyond the common; who started an operation; statistics without the owner."""

import django.contrib.postgres.fields
from django.db import migrations, models

from memories.migrations._promises import event_tables, key_lookup

LOOKUP = {"users": "text", "user_patterns": "text[]", "may_read_wide": "boolean"}
# Triggers that are made anew write history as the owner again, whichever way this runs.
PINNED = event_tables([], app="memories")
ANALYZE = """
    -- Only their owner may analyze the search tables; autovacuum sees to their partitions, not to them as wholes.
    CREATE FUNCTION nova_analyze_search() RETURNS void LANGUAGE sql
    SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        ANALYZE memories_embedding, memories_keywords;
    $$;
"""
UNDO_ANALYZE = "DROP FUNCTION nova_analyze_search;"


class Migration(migrations.Migration):
    """Columns, the look-up that answers one, and the function."""

    dependencies = [
        ("memories", "0013_claims_of_a_fragment"),
    ]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, PINNED),
        migrations.AddField(
            model_name="grant",
            name="upstream_paths",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=200), default=list, size=None
            ),
        ),
        migrations.AddField(model_name="operation", name="key_id", field=models.UUIDField(null=True)),
        migrations.AddField(model_name="operation", name="user_id", field=models.IntegerField(null=True)),
        migrations.AddField(
            model_name="operation", name="ceiling", field=models.CharField(blank=True, default="", max_length=16)
        ),
        migrations.RunSQL(PINNED, migrations.RunSQL.noop),
        migrations.RunSQL(key_lookup(**LOOKUP, upstream_paths="text[]"), key_lookup(**LOOKUP)),
        migrations.RunSQL(ANALYZE, UNDO_ANALYZE),
    ]
