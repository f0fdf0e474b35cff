"""Keywords of a small scope are looked for in one round."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

BOUND = 5_000  # texts
FUNCTION = sql_of(__file__, "function").format(BOUND=BOUND)
FORMER = (
    in_module("0015_statistics_over_what_is_read")
    .FUNCTIONS.partition("-- BM25 (k1")[2]
    .partition("CREATE FUNCTION nova_keyword_hits")[2]
)


class Migration(migrations.Migration):
    """A function, as before for all others."""

    dependencies: ClassVar = [("memories", "0037_carried_answers")]

    operations: ClassVar = [migrations.RunSQL(FUNCTION, f"CREATE OR REPLACE FUNCTION nova_keyword_hits{FORMER}")]
