"""What hangs on a row of its project needs no reference to the project besides: that one promises it already."""

from typing import ClassVar

from django.db import migrations

from memories.migrations._promises import implied_references

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

    dependencies: ClassVar = [("memories", "0035_digests_and_keywords")]

    operations: ClassVar = [migrations.RunSQL(*implied_references("memories", IMPLIED))]
