"""What many memories at once cost: digests of plain texts, and a count of the table that reads no wide column."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

PROMISES = sql_of(in_module("0003_promises").__file__, "triggers")
KEYED = PROMISES[PROMISES.index("CREATE FUNCTION nova_keyed(") :].partition(";")[0] + ";"
ANALYZE = sql_of(in_module("0006_lookups").__file__, "analyze")


class Migration(migrations.Migration):
    """Functions."""

    dependencies: ClassVar = [("memories", "0026_recall_checks")]

    operations: ClassVar = [
        migrations.RunSQL(
            sql_of(__file__, "functions"),
            [text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION") for text in (KEYED, ANALYZE)],
        ),
    ]
