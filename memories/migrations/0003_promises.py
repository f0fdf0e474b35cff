"""What the database promises whatever the code does: row-level security, composite references, triggers.

The shapes common to all tables stand in `_promises`.
"""

from django.db import migrations

from memories.migrations._promises import (
    References,
    event_tables,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
)
from memories.migrations._sql import sql_of

REFERENCES: References = {
    "memories_owner": {},
    "memories_grant": {},
    "memories_apikey": {"grant_id": ("memories_grant", "CASCADE"), "owner_id": ("memories_owner", "CASCADE")},
    "memories_namespace": {"forked_from_id": ("memories_namespace", "SET NULL (forked_from_id)")},
    "memories_fragment": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "superseded_by_id": ("memories_fragment", "SET NULL (superseded_by_id)"),
    },
    "memories_revision": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_access": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_link": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "other_id": ("memories_fragment", "CASCADE"),
    },
    "memories_pendingconnection": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_connected": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "model_id": ("memories_embeddingmodel", "CASCADE"),
    },
    "memories_cluster": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_clustermember": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "cluster_id": ("memories_cluster", "CASCADE"),
    },
    "memories_clusterlabel": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_episode": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_episodemember": {
        "episode_id": ("memories_episode", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_entity": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_mention": {
        "entity_id": ("memories_entity", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_relation": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "subject_id": ("memories_entity", "CASCADE"),
        "object_id": ("memories_entity", "CASCADE"),
    },
    "memories_claim": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "namespace_id": ("memories_namespace", "CASCADE"),
    },
    "memories_embedding": {
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_keywords": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_keywordstatistics": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_documentfrequency": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_pendingembedding": {
        "fragment_id": ("memories_fragment", "CASCADE"),
        "model_id": ("memories_embeddingmodel", "CASCADE"),
    },
    "memories_archive": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_tombstone": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_erasure": {},
    "memories_origin": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_operation": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_receipt": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_repeatedrequest": {},
    "memories_exchange": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "key_id": ("memories_apikey", "CASCADE"),
    },
    "memories_searchday": {},
    "memories_savedview": {},
    "memories_seal": {},
    "memories_llmcall": {"namespace_id": ("memories_namespace", "CASCADE")},
    "memories_proposal": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_task": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    "memories_pendingreading": {"fragment_id": ("memories_fragment", "CASCADE")},
    "memories_planstep": {
        "operation_id": ("memories_operation", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
        "other_id": ("memories_fragment", "CASCADE"),
    },
    "memories_runchange": {
        "operation_id": ("memories_operation", "CASCADE"),
        "fragment_id": ("memories_fragment", "CASCADE"),
    },
    # Not RESTRICT, which would also refuse when the increment goes in the same statement, with the project.
    "memories_backup": {"base_id": ("memories_backup", "NO ACTION")},
    "memories_heardpair": {
        "one_id": ("memories_fragment", "CASCADE"),
        "other_id": ("memories_fragment", "CASCADE"),
    },
}
EVENTS = [
    f"memories_{name}event"
    for name in (
        *("fragment", "claim", "grant", "apikey", "namespace", "operation", "tombstone", "erasure", "backup"),
        "membership",
    )
]
CASCADES = sql_of(__file__, "cascades")
UNDO_CASCADES = """
    DROP INDEX memories_embedding_fragment_id_idx, memories_keywords_fragment_id_idx, memories_link_other,
        memories_episodemember_fragment, memories_proposal_fragment, memories_task_fragment, memories_planstep_fragment, memories_planstep_other,
        memories_runchange_fragment, memories_heardpair_other;
"""

DIMENSIONS = """
    -- A vector of another number of dimensions than its model's is impossible; nor can a model with vectors change its own.
    ALTER TABLE memories_embedding ADD COLUMN dim integer NOT NULL GENERATED ALWAYS AS (vector_dims(vector)) STORED,
        ADD CONSTRAINT memories_embedding_model_id_fk FOREIGN KEY (model_id, dim)
            REFERENCES memories_embeddingmodel (id, dim) ON DELETE RESTRICT;
"""
UNDO_DIMENSIONS = "ALTER TABLE memories_embedding DROP COLUMN dim;"

# Seals are added and read, never taken back, but for the cascade of a project's end.
SEALS = "REVOKE UPDATE, DELETE, TRUNCATE ON memories_seal FROM nova_app;"
UNDO_SEALS = "GRANT UPDATE, DELETE ON memories_seal TO nova_app;"

BELIEF = """
    -- Two active exclusive values of one key at one time are impossible. SHA-256 of the key, because long keys break GiST;
    -- deferrable, because a swap in one UPDATE would otherwise depend on row order.
    ALTER TABLE memories_claim ADD CONSTRAINT claim_one_value EXCLUDE USING gist (
        project_id WITH =, namespace_id WITH =, key_digest WITH =, session_id WITH =, slot WITH =, validity WITH &&
    ) WHERE (status = 'active' AND exclusive) DEFERRABLE INITIALLY IMMEDIATE;
"""
UNDO_BELIEF = "ALTER TABLE memories_claim DROP CONSTRAINT claim_one_value;"

TRIGGERS = sql_of(__file__, "triggers")
UNDO_TRIGGERS = sql_of(__file__, "undo_triggers")


class Migration(migrations.Migration):
    """References, row-level security, triggers."""

    dependencies = [("memories", "0002_search_tables")]

    operations = [
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(DIMENSIONS, UNDO_DIMENSIONS),
        migrations.RunSQL(CASCADES, UNDO_CASCADES),
        migrations.RunSQL(event_tables(EVENTS, app="memories"), undo_event_tables(EVENTS, app="memories")),
        migrations.RunSQL(SEALS, UNDO_SEALS),
        migrations.RunSQL(BELIEF, UNDO_BELIEF),
        migrations.RunSQL(TRIGGERS, UNDO_TRIGGERS),
    ]
