"""Words of every script are found: also those that no space parts, and digits and letters of other widths."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

# Thai and Lao (without digits), Burmese, Khmer, kana, Chinese.
LETTERS = r"\u0e00-\u0e4f\u0e80-\u0ecf\u0edc-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


def _function(text: str, name: str) -> str:
    """Return a function's statement, to be put in the place of the one that is there."""
    body = text[text.index(f"FUNCTION {name}(") :].partition("$$;")[0]
    return f"CREATE OR REPLACE {body}$$;"


FORMER = [
    _function(sql_of(in_module("0035_digests_and_keywords").__file__, "functions"), "nova_index_keywords"),
    _function(sql_of(in_module("0008_search_by_root").__file__, "functions"), "nova_asked"),
    "DROP FUNCTION nova_spaced",
]


class Migration(migrations.Migration):
    """Functions, and the keywords of the texts that they read otherwise."""

    dependencies: ClassVar = [("memories", "0043_reporters_of_tasks")]

    operations: ClassVar = [
        migrations.RunSQL(sql_of(__file__, "functions").replace("LETTERS", LETTERS), FORMER),
        migrations.RunSQL(sql_of(__file__, "reindex"), migrations.RunSQL.noop),
    ]
