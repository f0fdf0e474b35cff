"""What the database promises of predicates, votes and conflicts: references, row-level security, history."""

from django.db import migrations

from memories.migrations._promises import (
    References,
    event_tables,
    recorded,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
    unrecorded,
)

REFERENCES: References = {
    "conflicts_predicate": {"namespace_id": ("memories_namespace", "CASCADE")},
    "conflicts_vote": {"fragment_id": ("memories_fragment", "CASCADE")},
    "conflicts_pendingconflict": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "newcomer_id": ("memories_fragment", "SET NULL (newcomer_id)"),
        "existing_id": ("memories_fragment", "SET NULL (existing_id)"),
    },
    "conflicts_reservation": {"conflict_id": ("conflicts_pendingconflict", "CASCADE")},
}
EVENTS = ["conflicts_predicateevent", "conflicts_pendingconflictevent"]
RECORDED = {"conflicts_vote": ("id", "fragment_id"), "conflicts_pendingconflict": ("id", "newcomer_id,existing_id")}


class Migration(migrations.Migration):
    """References, row-level security, history by triggers."""

    dependencies = [("conflicts", "0001_tables"), ("memories", "0005_runs")]

    operations = [
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(event_tables(EVENTS, app="conflicts"), undo_event_tables(EVENTS, app="conflicts")),
        migrations.RunSQL(
            [recorded(table, *columns) for table, columns in RECORDED.items()], [unrecorded(t) for t in RECORDED]
        ),
    ]
