"""Keyword statistics summed over the scopes that are read (docs/decisions/0094); look-ups that walk no users."""

from django.db import migrations, models

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

BOUND = 5_000  # texts

FUNCTIONS = sql_of(__file__, "functions").format(BOUND=BOUND)


def of_each_scope() -> str:
    """Return the functions as they were: each scope's own statistics weigh what it holds."""
    of_claims: str = in_module("0013_claims_of_a_fragment").REACH
    of_roots: str = in_module("0008_search_by_root").FUNCTIONS
    index, hits = (
        "".join(text[text.index(f"{begin}(") :].partition("$$;")[:2])
        for text, begin in (
            (of_claims, "CREATE OR REPLACE FUNCTION nova_index_keywords"),
            (of_roots, "CREATE FUNCTION nova_keyword_hits"),
        )
    )
    return f"DROP FUNCTION nova_keyword_hits, nova_read, nova_counted; {index} {hits}"


class Migration(migrations.Migration):
    """Functions that weigh words by all that is read, and indexes of copies and forks."""

    dependencies = [("memories", "0013_claims_of_a_fragment")]

    operations = [
        migrations.RunSQL(FUNCTIONS, of_each_scope()),
        migrations.AddIndex("origin", models.Index(fields=["project", "root_id"], name="origin_line")),
        migrations.AddIndex(
            "namespace",
            models.Index(
                condition=models.Q(("forked_from__isnull", False)),
                fields=["project", "forked_from"],
                name="namespace_by_source",
            ),
        ),
    ]
