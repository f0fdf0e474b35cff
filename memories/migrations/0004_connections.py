"""What has to be connected anew when memories change: triggers note it, upkeep works it off."""

from django.db import migrations

from memories.migrations._sql import sql_of

CONNECTIONS = sql_of(__file__, "connections")
UNDO_CONNECTIONS = sql_of(__file__, "undo_connections")


class Migration(migrations.Migration):
    """Triggers of links, clusters, episodes and the graph."""

    dependencies = [("memories", "0003_promises")]

    operations = [migrations.RunSQL(CONNECTIONS, UNDO_CONNECTIONS)]
