"""Digests of texts without spaces to fold take less time."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

FORMER = sql_of(in_module("0027_bulk_writes").__file__, "functions").partition("-- As before")[0]


class Migration(migrations.Migration):
    """A function."""

    dependencies: ClassVar = [("memories", "0035_implied_references")]

    operations: ClassVar = [migrations.RunSQL(sql_of(__file__, "functions"), FORMER)]
