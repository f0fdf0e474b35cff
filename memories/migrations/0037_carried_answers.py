"""Which answers carried a memory is asked of an index over what receipts name."""

from typing import ClassVar

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations

from memories.migrations._sql import sql_of


class Migration(migrations.Migration):
    """An index, which writers go on beside, and a function."""

    atomic = False

    dependencies: ClassVar = [("memories", "0036_implied_references")]

    operations: ClassVar = [
        AddIndexConcurrently("receipt", GinIndex(fields=["fragment_ids"], name="receipt_by_fragment")),
        migrations.RunSQL(sql_of(__file__, "functions"), "DROP FUNCTION IF EXISTS nova_carried"),
    ]
