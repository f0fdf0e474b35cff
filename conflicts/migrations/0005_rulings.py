"""Rulings: what decisions leave on keys, with what the database promises of them."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

import memories.models.tenant
from memories.migrations._promises import (
    References,
    event_tables,
    tenant_tables,
    undo_event_tables,
    undo_tenant_tables,
)

REFERENCES: References = {
    "conflicts_ruling": {
        "namespace_id": ("memories_namespace", "CASCADE"),
        "conflict_id": ("conflicts_pendingconflict", "SET NULL (conflict_id)"),
        "fragment_id": ("memories_fragment", "SET NULL (fragment_id)"),
        "replaced_by_id": ("conflicts_ruling", "SET NULL (replaced_by_id)"),
    }
}
EVENTS = ["conflicts_rulingevent"]
# What a former decision was about: rejected values are ruled out; what was chosen and stands is chosen; where it was
# overwritten since, the chosen and what stands now wait as a conflict. `newest` are the digests of built-in predicates
# that the newest value answers. Run again it finds nothing to do. A rule of the namespace is read as JSON, so that its
# columns may change.
FORMER = """
    CREATE FUNCTION nova_rule_on_former_decisions(project uuid, places uuid[], newest bytea[]) RETURNS integer
    LANGUAGE plpgsql AS $$
    DECLARE
        made integer;
    BEGIN
        CREATE TEMP TABLE former_decision ON COMMIT DROP AS
        SELECT DISTINCT ON (c.namespace_id, c.key_digest, c.resolved_at)
            c.*, n.value_digest AS said, n.valid_from, n.valid_until, f.status AS newcomer_status,
            e.value_digest AS held, g.status AS existing_status, f.superseded_by_id AS successor_id,
            CASE WHEN o.name LIKE 'user:%' THEN 6 ELSE greatest(1, least(6, coalesce(c.new_authority, 1))) END AS rank,
            coalesce((c.statement ->> 'negated')::boolean, false) AS negated
        FROM conflicts_pendingconflict c
        LEFT JOIN memories_owner o ON o.project_id = c.project_id AND o.id = c.resolved_by
        LEFT JOIN memories_fragment f ON f.project_id = c.project_id AND f.id = c.newcomer_id
        LEFT JOIN memories_fragment g ON g.project_id = c.project_id AND g.id = c.existing_id
        LEFT JOIN memories_claim n ON n.project_id = c.project_id AND n.fragment_id = c.newcomer_id
            AND n.key_digest = c.key_digest
        LEFT JOIN memories_claim e ON e.project_id = c.project_id AND e.fragment_id = c.existing_id
            AND e.key_digest = c.key_digest
        WHERE c.project_id = project AND (places IS NULL OR c.namespace_id = ANY (places))
            AND c.kind IN ('claim', 'text') AND c.resolution IN ('supersede', 'reject', 'keep_both')
            AND length(c.key_digest) > 0
            AND NOT EXISTS (SELECT FROM conflicts_ruling r WHERE r.project_id = c.project_id
                AND r.namespace_id = c.namespace_id AND r.key_digest = c.key_digest AND r.decided_at = c.resolved_at)
            AND NOT coalesce((SELECT to_jsonb(p) ->> 'newer_wins' = 'true' OR to_jsonb(p) ->> 'policy' = 'newest'
                FROM conflicts_predicate p WHERE p.project_id = c.project_id AND p.namespace_id = c.namespace_id
                    AND p.spelling_digest = c.predicate_digest), c.predicate_digest = ANY (newest))
        ORDER BY c.namespace_id, c.key_digest, c.resolved_at, c.before ? 'settled_with', c.id;

        INSERT INTO conflicts_ruling (id, project_id, namespace_id, conflict_id, fragment_id, subject_digest,
            predicate_digest, key_digest, scope, session_id, valid_from, valid_until, chosen, ruled_out,
            chosen_fragments, ruled_out_fragments, authority, decided_by, decided_at, note, edited, repeats)
        SELECT gen_random_uuid(), d.project_id, d.namespace_id, d.id,
            CASE WHEN d.kind = 'text' THEN d.newcomer_id END, d.subject_digest, d.predicate_digest, d.key_digest,
            d.scope, d.session_id, d.valid_from, d.valid_until,
            CASE WHEN d.resolution = 'reject' THEN '{}' ELSE array_remove(ARRAY[
                CASE WHEN NOT d.negated THEN encode(coalesce(d.said, d.value_digest), 'hex') END,
                CASE WHEN d.resolution = 'keep_both' AND d.existing_status IN ('active', 'disputed')
                    THEN encode(d.held, 'hex') END], NULL) END,
            CASE WHEN d.resolution = 'reject' AND NOT d.negated THEN ARRAY[encode(d.value_digest, 'hex')]
                WHEN d.resolution = 'supersede' THEN ARRAY(
                    SELECT DISTINCT encode(c.value_digest, 'hex') FROM memories_claim c
                    JOIN memories_fragment f ON f.project_id = c.project_id AND f.id = c.fragment_id
                    WHERE c.project_id = d.project_id AND f.superseded_by_id = d.newcomer_id
                        AND c.key_digest = d.key_digest AND c.value_digest IS DISTINCT FROM d.said)
                ELSE '{}' END,
            CASE WHEN d.resolution = 'reject' OR d.newcomer_id IS NULL THEN '{}' ELSE ARRAY[d.newcomer_id] END,
            CASE WHEN d.resolution = 'reject' AND d.newcomer_id IS NOT NULL THEN ARRAY[d.newcomer_id]
                WHEN d.resolution = 'supersede' THEN ARRAY(SELECT f.id FROM memories_fragment f
                    WHERE f.project_id = d.project_id AND f.superseded_by_id = d.newcomer_id ORDER BY f.id)
                ELSE '{}' END,
            d.rank, d.resolved_by, d.resolved_at, d.note, false, 0
        FROM former_decision d
        WHERE d.resolution = 'reject' OR d.newcomer_status IN ('active', 'disputed');
        GET DIAGNOSTICS made = ROW_COUNT;

        INSERT INTO conflicts_pendingconflict (id, project_id, namespace_id, kind, reason, newcomer_id, existing_id,
            subject_digest, predicate_digest, key_digest, value_digest, scope, session_id, new_authority,
            existing_authority, revision, created_at, resolution, keep, note)
        SELECT DISTINCT ON (d.newcomer_id, s.fragment_id) gen_random_uuid(), d.project_id, d.namespace_id, 'claim',
            'authority_insufficient', d.newcomer_id, s.fragment_id, d.subject_digest, d.predicate_digest, d.key_digest,
            d.said, d.scope, d.session_id, d.new_authority, s.authority, 1, now(), '', '', ''
        FROM former_decision d
        JOIN memories_claim s ON s.project_id = d.project_id AND s.namespace_id = d.namespace_id
            AND s.key_digest = d.key_digest AND s.session_id = d.session_id
            AND s.status IN ('active', 'disputed') AND s.exclusive AND s.value_digest <> d.said
        WHERE d.kind = 'claim' AND d.resolution <> 'reject' AND d.newcomer_status = 'superseded'
            AND NOT EXISTS (SELECT FROM conflicts_pendingconflict c WHERE c.project_id = d.project_id
                AND c.namespace_id = d.namespace_id AND c.key_digest = d.key_digest
                AND (c.newcomer_id = d.newcomer_id AND c.existing_id = s.fragment_id
                    OR c.resolved_at > d.resolved_at AND c.resolution IN ('supersede', 'keep_both')));
        DROP TABLE former_decision;
        RETURN made;
    END $$;
"""


class Migration(migrations.Migration):
    """The table, its history, and how decisions from before get rulings."""

    dependencies = [
        ("conflicts", "0004_repetitions"),
        ("memories", "0011_external_keys"),
    ]

    operations = [
        migrations.CreateModel(
            name="Ruling",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("subject_digest", models.BinaryField(default=b"", max_length=32)),
                ("predicate_digest", models.BinaryField(default=b"", max_length=32)),
                ("key_digest", models.BinaryField(default=b"", max_length=32)),
                ("scope", models.CharField(blank=True, max_length=16)),
                ("session_id", models.CharField(blank=True, max_length=255)),
                ("valid_from", models.DateTimeField(null=True)),
                ("valid_until", models.DateTimeField(null=True)),
                (
                    "chosen",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "ruled_out",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "chosen_fragments",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                (
                    "ruled_out_fragments",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None),
                ),
                ("authority", models.SmallIntegerField()),
                ("decided_by", models.UUIDField(null=True)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("edited", models.BooleanField(default=False)),
                ("repeats", models.PositiveIntegerField(default=0)),
                ("repeated_at", models.DateTimeField(null=True)),
                (
                    "conflict",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="rulings",
                        to="conflicts.pendingconflict",
                    ),
                ),
                (
                    "fragment",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.fragment",
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.namespace",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memories.project",
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="conflicts.ruling",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RulingEvent",
            fields=[
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "recorded_in",
                    memories.models.tenant.Xid8Field(db_default=memories.models.tenant.Current(), editable=False),
                ),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("pgh_context_id", models.UUIDField(null=True)),
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, serialize=False)),
                ("key_digest", models.BinaryField(default=b"", max_length=32)),
                (
                    "chosen",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                (
                    "ruled_out",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("authority", models.SmallIntegerField()),
                ("decided_by", models.UUIDField(null=True)),
                ("decided_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("edited", models.BooleanField(default=False)),
                ("repeats", models.PositiveIntegerField(default=0)),
                (
                    "conflict",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="conflicts.pendingconflict",
                    ),
                ),
                (
                    "fragment",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="memories.fragment",
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="memories.namespace",
                    ),
                ),
                (
                    "pgh_obj",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="events",
                        related_query_name="events",
                        to="conflicts.ruling",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="memories.project",
                    ),
                ),
                (
                    "replaced_by",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        related_query_name="+",
                        to="conflicts.ruling",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(
                condition=models.Q(("replaced_by", None)),
                fields=["project", "namespace", "key_digest"],
                name="ruling_by_key",
            ),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "namespace", "-decided_at", "-id"], name="ruling_pages"),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "conflict"], name="ruling_by_conflict"),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "replaced_by"], name="ruling_by_successor"),
        ),
        migrations.AddIndex(
            model_name="ruling",
            index=models.Index(fields=["project", "fragment"], name="ruling_by_fragment"),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.UniqueConstraint(fields=("project", "id"), name="ruling_project_id"),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.CheckConstraint(
                condition=models.Q(("authority__gte", 1), ("authority__lte", 6)), name="ruling_authority"
            ),
        ),
        migrations.AddConstraint(
            model_name="ruling",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("valid_from__isnull", True),
                    ("valid_until__isnull", True),
                    ("valid_until__gt", models.F("valid_from")),
                    _connector="OR",
                ),
                name="ruling_period_forward",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out") SELECT new_values."authority", new_values."chosen", new_values."conflict_id", new_values."decided_at", new_values."decided_by", new_values."edited", new_values."fragment_id", new_values."id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."project_id", new_values."repeats", new_values."replaced_by_id", new_values."ruled_out" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="92e9d35cc1dfde8208ea0bf74a69bdaec92c332d",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_c3519",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out") SELECT new_values."authority", new_values."chosen", new_values."conflict_id", new_values."decided_at", new_values."decided_by", new_values."edited", new_values."fragment_id", new_values."id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."project_id", new_values."repeats", new_values."replaced_by_id", new_values."ruled_out" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."chosen" IS DISTINCT FROM (new_values."chosen") OR old_values."conflict_id" IS DISTINCT FROM (new_values."conflict_id") OR old_values."decided_at" IS DISTINCT FROM (new_values."decided_at") OR old_values."decided_by" IS DISTINCT FROM (new_values."decided_by") OR old_values."edited" IS DISTINCT FROM (new_values."edited") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."id" IS DISTINCT FROM (new_values."id") OR old_values."key_digest" IS DISTINCT FROM (new_values."key_digest") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."repeats" IS DISTINCT FROM (new_values."repeats") OR old_values."replaced_by_id" IS DISTINCT FROM (new_values."replaced_by_id") OR old_values."ruled_out" IS DISTINCT FROM (new_values."ruled_out")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="36ff5642731940e645ea7bc2d0b00a7c8f3300c7",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_a987b",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ruling",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "conflicts_rulingevent" ("authority", "chosen", "conflict_id", "decided_at", "decided_by", "edited", "fragment_id", "id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "project_id", "repeats", "replaced_by_id", "ruled_out") SELECT old_values."authority", old_values."chosen", old_values."conflict_id", old_values."decided_at", old_values."decided_by", old_values."edited", old_values."fragment_id", old_values."id", old_values."key_digest", old_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."project_id", old_values."repeats", old_values."replaced_by_id", old_values."ruled_out" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="f2f5ceeb9331f65612f1639c4781cea91bf6ee64",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_e5f95",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="conflicts_ruling",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="rulingevent",
            index=models.Index(fields=["project", "recorded_in", "pgh_id"], name="ruling_event_order"),
        ),
        migrations.AddIndex(
            model_name="rulingevent",
            index=models.Index(fields=["pgh_obj", "pgh_id"], name="ruling_event_before"),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="rulingevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="7d28f76e973c0666fffb0006bbb09aa35e105f6b",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_0e25e",
                    table="conflicts_rulingevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(tenant_tables(REFERENCES), undo_tenant_tables(REFERENCES)),
        migrations.RunSQL(event_tables(EVENTS, app="conflicts"), undo_event_tables(EVENTS, app="conflicts")),
        migrations.RunSQL(FORMER, "DROP FUNCTION nova_rule_on_former_decisions;"),
    ]
