"""What many memories at once cost: digests of plain texts, keywords, and a count that reads no wide column."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of


def _between(text: str, begin: str, end: str) -> str:
    """Return a statement, or the part of one that begins behind `begin` where that is no statement's beginning."""
    found = text[text.index(begin) :].partition(end)[0]
    return found + end if begin.startswith("CREATE") else found.removeprefix(begin)


SEARCH = sql_of(in_module("0002_search_tables").__file__, "functions")
PROMISES = sql_of(in_module("0003_promises").__file__, "triggers")
KEYED = _between(PROMISES, "CREATE FUNCTION nova_keyed(", ";")
ANALYZE = sql_of(in_module("0006_lookups").__file__, "analyze")
INDEX = _between(
    in_module("0015_statistics_over_what_is_read").FUNCTIONS, "CREATE OR REPLACE FUNCTION nova_index_keywords(", "$$;"
)
# A function that asks something within is called for each row by itself: in the statement's own words it takes a third.
MARKS = _between(_between(SEARCH, "CREATE FUNCTION nova_marks(", ";"), "RETURN ARRAY", ";")
COUNT = "(SELECT coalesce(sum(cardinality(x.positions)), 0) FROM unnest(w.words) AS x)"  # nova_word_count
INLINED = INDEX.replace("nova_marks(f)", f"ARRAY{MARKS}").replace("nova_word_count(w.words)", COUNT)


class Migration(migrations.Migration):
    """Functions."""

    dependencies: ClassVar = [("memories", "0026_recall_checks")]

    operations: ClassVar = [
        migrations.RunSQL(
            [sql_of(__file__, "functions"), INLINED],
            [INDEX, *(text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION") for text in (KEYED, ANALYZE))],
        ),
    ]
