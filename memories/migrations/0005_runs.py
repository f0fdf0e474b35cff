"""What a run of upkeep changes is kept as it was before, so that the run can be undone."""

from django.db import migrations

from memories.migrations._promises import recorded, unrecorded
from memories.migrations._sql import sql_of

RUNS = sql_of(__file__, "runs")
UNDO_RUNS = "DROP FUNCTION nova_keep_before, nova_part_digest;"
RECORDED = {
    "memories_fragment": ("id", "id"),
    "memories_claim": ("fragment_id", "fragment_id"),
    "memories_access": ("fragment_id", "fragment_id"),
    "memories_link": ("id", "fragment_id"),
}


class Migration(migrations.Migration):
    """Triggers that keep former values."""

    dependencies = [("memories", "0004_connections")]

    operations = [
        migrations.RunSQL(RUNS, UNDO_RUNS),
        migrations.RunSQL(
            [recorded(table, *columns) for table, columns in RECORDED.items()], [unrecorded(t) for t in RECORDED]
        ),
    ]
