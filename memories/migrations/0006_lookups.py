"""Questions and requests to the database for which one function stands."""

from django.db import migrations

from memories.migrations._sql import sql_of

HORIZON = sql_of(__file__, "horizon")
UNDO_HORIZON = "DROP FUNCTION nova_horizon;"

KEY_LOOKUP = sql_of(__file__, "key_lookup")
UNDO_KEY_LOOKUP = "DROP FUNCTION nova_find_key;"

ANALYZE = sql_of(__file__, "analyze")
UNDO_ANALYZE = "DROP FUNCTION nova_analyze_fragments;"


class Migration(migrations.Migration):
    """Which transactions are over; whose key it is; how many memories there are, for the planner."""

    dependencies = [("memories", "0005_runs")]

    operations = [
        migrations.RunSQL(HORIZON, UNDO_HORIZON),
        migrations.RunSQL(KEY_LOOKUP, UNDO_KEY_LOOKUP),
        migrations.RunSQL(ANALYZE, UNDO_ANALYZE),
    ]
