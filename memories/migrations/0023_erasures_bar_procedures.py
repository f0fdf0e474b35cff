"""A forgotten text is barred as the trigger or a step of a memory, too: they are shown as its words."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module
from memories.migrations._sql import sql_of

BARRED_BY_TEXT = in_module("0019_forged_rows_and_folded_texts").BARRED_IN_ANY_GUISE
PRINTS = sql_of(__file__, "prints")
CHANGED = "IF TG_OP = 'INSERT' OR NEW.content IS DISTINCT FROM OLD.content THEN"
BARRED_BY_WORDS = BARRED_BY_TEXT.replace(
    "nova_fingerprints(NEW.project_id, NEW.content)", "nova_words_prints(NEW.project_id, NEW.content, NEW.extra)"
).replace(
    CHANGED,
    CHANGED.replace(
        "NEW.content IS DISTINCT FROM OLD.content", "(NEW.content, NEW.extra) IS DISTINCT FROM (OLD.content, OLD.extra)"
    ),
)


class Migration(migrations.Migration):
    """A function, and the trigger that asks it."""

    dependencies: ClassVar = [("memories", "0022_rank_of_a_decision")]

    operations: ClassVar = [
        migrations.RunSQL([PRINTS, BARRED_BY_WORDS], [BARRED_BY_TEXT, "DROP FUNCTION nova_words_prints;"]),
    ]
