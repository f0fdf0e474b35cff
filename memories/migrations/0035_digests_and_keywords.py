"""Digests and keywords of many texts in less time, the same as before."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

BULK = in_module("0027_bulk_writes")
DIGESTS = sql_of(BULK.__file__, "functions").partition("-- As before")[0]


class Migration(migrations.Migration):
    """Functions."""

    dependencies: ClassVar = [("memories", "0034_project_rates")]

    operations: ClassVar = [migrations.RunSQL(sql_of(__file__, "functions"), [DIGESTS, BULK.INLINED])]
