"""Conflicts name the claims of both sides."""

from django.db import migrations, models
from django.db.models.functions import Coalesce

from memories.migrations._sql import sql_of

# The first claim of a fragment bears its id; a text that only was read claims nothing.
SIDES = """
    ALTER TABLE conflicts_pendingconflict DISABLE TRIGGER USER;
    UPDATE conflicts_pendingconflict SET newcomer_claim = newcomer_id WHERE kind = 'claim';
    UPDATE conflicts_pendingconflict SET existing_claim = existing_id WHERE length(key_digest) > 0;
    ALTER TABLE conflicts_pendingconflict ENABLE TRIGGER USER;
"""

# What names a fragment alone, as bundles and decisions from before do, means its first claim.
FIRST = sql_of(__file__, "first")
UNDO_FIRST = """
    DROP TRIGGER conflict_claims ON conflicts_pendingconflict;
    DROP FUNCTION nova_conflict_claims;
"""


class Migration(migrations.Migration):
    """The columns, filled, and one pending conflict per pair of claims."""

    dependencies = [("conflicts", "0007_former_decisions"), ("memories", "0013_claims_of_a_fragment")]

    operations = [
        migrations.AddField(model_name="pendingconflict", name="newcomer_claim", field=models.UUIDField(null=True)),
        migrations.AddField(model_name="pendingconflict", name="existing_claim", field=models.UUIDField(null=True)),
        migrations.RunSQL(SIDES, migrations.RunSQL.noop),
        migrations.RunSQL(FIRST, UNDO_FIRST),
        migrations.RemoveConstraint(model_name="pendingconflict", name="conflict_once_pending"),
        migrations.AddConstraint(
            model_name="pendingconflict",
            constraint=models.UniqueConstraint(
                models.F("project"),
                models.F("newcomer"),
                models.F("existing"),
                Coalesce("newcomer_claim", "newcomer"),
                Coalesce("existing_claim", "existing"),
                condition=models.Q(("resolved_at", None)),
                name="conflict_once_pending",
            ),
        ),
    ]
