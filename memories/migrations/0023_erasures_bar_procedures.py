"""A forgotten text is barred as the trigger or a step of a memory, too: they are shown as its words."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import in_module

BARRED_BY_TEXT = in_module("0019_forged_rows_and_folded_texts").BARRED_IN_ANY_GUISE
PRINTS = """
    CREATE FUNCTION nova_words_prints(project uuid, content text, extra jsonb) RETURNS bytea[] LANGUAGE sql STABLE AS $$
        SELECT nova_fingerprints(project, content) || CASE WHEN extra ?| ARRAY['trigger', 'steps'] THEN
            coalesce((SELECT array_agg(p.print) FROM (
                SELECT extra ->> 'trigger' AS word UNION ALL
                SELECT s.step #>> '{}' FROM jsonb_array_elements(
                    CASE jsonb_typeof(extra -> 'steps') WHEN 'array' THEN extra -> 'steps' ELSE '[]' END) AS s (step)
            ) AS w CROSS JOIN LATERAL unnest(nova_fingerprints(project, w.word)) AS p (print)
            WHERE w.word <> ''), '{}') ELSE '{}' END
    $$;
"""
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
