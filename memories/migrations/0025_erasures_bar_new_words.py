"""An erasure bars words that a change brings, not what else stands beside words that are there already."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module

BARRED_AT_ANY_CHANGE = in_module("0023_erasures_bar_procedures").BARRED_BY_WORDS
BARRED_AS_NEW_WORDS = BARRED_AT_ANY_CHANGE.replace(
    "(NEW.content, NEW.extra) IS DISTINCT FROM (OLD.content, OLD.extra)",
    """(NEW.content, NEW.extra -> 'trigger', NEW.extra -> 'steps')
            IS DISTINCT FROM (OLD.content, OLD.extra -> 'trigger', OLD.extra -> 'steps')""",
)


class Migration(migrations.Migration):
    """The trigger's function anew."""

    dependencies: ClassVar = [("memories", "0024_floor_of_a_model")]

    operations: ClassVar = [migrations.RunSQL(BARRED_AS_NEW_WORDS, BARRED_AT_ANY_CHANGE)]
