"""What hangs on a row of its project needs no reference to the project besides: that one promises it already."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import reference_to_project

# Each has a reference over (project_id, …) that is never null, to a table that is bound to a project itself.
IMPLIED = (
    *("access", "apikey", "archive", "claim", "cluster", "clusterlabel", "clustermember", "connected"),
    *("documentfrequency", "embedding", "entity", "episode", "episodemember", "exchange", "fragment", "heardpair"),
    *("keywords", "keywordstatistics", "link", "mention", "origin", "pendingconnection", "pendingembedding"),
    *("pendingreading", "planstep", "proposal", "recallcheck", "receipt", "relation", "revision", "runchange", "task"),
    "tombstone",
)


class Migration(migrations.Migration):
    """One check less for each row that comes."""

    dependencies: ClassVar = [("memories", "0035_sooner_stored")]

    operations: ClassVar = [
        migrations.RunSQL(
            f"ALTER TABLE memories_{table} DROP CONSTRAINT memories_{table}_project_fk",
            reference_to_project(f"memories_{table}"),
        )
        for table in IMPLIED
    ]
