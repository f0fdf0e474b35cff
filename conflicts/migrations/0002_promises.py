"""What the database promises of predicates, votes and conflicts: references, row-level security, history."""

from django.db import migrations

from memories.migrations._promises import (
    References,
    event_tables,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
)

REFERENCES: References = {
    "conflicts_predicate": {"namespace_id": ("memories_namespace", "CASCADE")},
    "conflicts_vote": {"fragment_id": ("memories_fragment", "CASCADE")},
    "conflicts_pendingconflict": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "newcomer_id": ("memories_fragment", "SET NULL (newcomer_id)"),
        "existing_id": ("memories_fragment", "SET NULL (existing_id)"),
    },
}
EVENTS = ["conflicts_predicateevent", "conflicts_pendingconflictevent"]


class Migration(migrations.Migration):
    """References, row-level security, history by triggers."""

    dependencies = [("conflicts", "0001_tables"), ("memories", "0003_promises")]

    operations = [
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(event_tables(EVENTS, app="conflicts"), undo_event_tables(EVENTS, app="conflicts")),
    ]
