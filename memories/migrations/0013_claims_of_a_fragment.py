"""A fragment holds several claims: each has an id, a place in the text and a verdict of its own."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from memories.migrations._promises import history_by_triggers, in_module, recorded, reference, unrecorded

CLAIMS = """
    -- The first claim bears its fragment's id, so that what names it from before goes on naming it.
    CREATE FUNCTION nova_claim_id(fragment uuid, place integer) RETURNS uuid LANGUAGE sql IMMUTABLE
        RETURN CASE WHEN place = 0 THEN fragment ELSE md5(fragment::text || place::text)::uuid END;
    -- The fragment's or the claim's own, whichever stands less.
    CREATE FUNCTION nova_claim_status(fragment text, verdict text) RETURNS text LANGUAGE sql IMMUTABLE
        RETURN CASE WHEN verdict <> '' AND array_position('{active,disputed,quarantined,superseded,archived}', verdict)
            > array_position('{active,disputed,quarantined,superseded,archived}', fragment) THEN verdict ELSE fragment END;

    ALTER TABLE memories_claim DISABLE TRIGGER USER;
    ALTER TABLE memories_claim
        ADD COLUMN id uuid,
        ADD COLUMN position smallint NOT NULL DEFAULT 0 CHECK (position >= 0),
        ADD COLUMN verdict varchar(16) NOT NULL DEFAULT '',
        ADD COLUMN superseded_by_id uuid,
        ADD COLUMN span_start integer CHECK (span_start >= 0),
        ADD COLUMN span_end integer CHECK (span_end >= 0);
    UPDATE memories_claim SET id = fragment_id;
    ALTER TABLE memories_claim ENABLE TRIGGER USER;
    ALTER TABLE memories_claim
        ALTER COLUMN id SET NOT NULL, ALTER COLUMN position DROP DEFAULT, ALTER COLUMN verdict DROP DEFAULT,
        DROP CONSTRAINT claim_project_id, DROP CONSTRAINT memories_claim_pkey, ADD PRIMARY KEY (id),
        ADD CONSTRAINT claim_project_id UNIQUE (project_id, id),
        ADD CONSTRAINT claim_position UNIQUE (project_id, fragment_id, position),
        ADD CONSTRAINT claim_among_others CHECK (position >= 0 AND position <= 19),
        ADD CONSTRAINT claim_named CHECK (id = nova_claim_id(fragment_id, position)),
        ADD CONSTRAINT claim_verdict CHECK (verdict IN ('', 'quarantined', 'superseded', 'archived')),
        ADD CONSTRAINT claim_span CHECK (span_start IS NULL AND span_end IS NULL OR span_start < span_end);
    CREATE INDEX claim_by_successor ON memories_claim (project_id, superseded_by_id) WHERE superseded_by_id IS NOT NULL;
"""
UNDO_CLAIMS = """
    ALTER TABLE memories_claim DISABLE TRIGGER USER;
    DELETE FROM memories_claim WHERE position > 0;
    ALTER TABLE memories_claim ENABLE TRIGGER USER;
    ALTER TABLE memories_claim DROP CONSTRAINT claim_named, DROP CONSTRAINT claim_position,
        DROP CONSTRAINT claim_project_id, DROP CONSTRAINT memories_claim_pkey, DROP COLUMN id, DROP COLUMN position,
        DROP COLUMN verdict, DROP COLUMN superseded_by_id, DROP COLUMN span_start, DROP COLUMN span_end,
        ADD PRIMARY KEY (fragment_id), ADD CONSTRAINT claim_project_id UNIQUE (project_id, fragment_id);
    DROP FUNCTION nova_claim_status, nova_claim_id;
"""
SUCCESSOR = reference("memories_claim", "superseded_by_id", "memories_fragment", "SET NULL (superseded_by_id)")
UNDO_SUCCESSOR = "ALTER TABLE memories_claim DROP CONSTRAINT memories_claim_superseded_by_id_fk;"

# An edge for each claim; what there is belongs to the first.
RELATIONS = """
    ALTER TABLE memories_relation ADD COLUMN claim_id uuid;
    UPDATE memories_relation SET claim_id = fragment_id;
    ALTER TABLE memories_relation ALTER COLUMN claim_id SET NOT NULL, DROP CONSTRAINT {key},
        ADD CONSTRAINT {key} PRIMARY KEY (project_id, claim_id);
    CREATE INDEX relation_by_fragment ON memories_relation (project_id, fragment_id);
"""
UNDO_RELATIONS = """
    DELETE FROM memories_relation WHERE claim_id <> fragment_id;
    ALTER TABLE memories_relation DROP CONSTRAINT {key}, ADD CONSTRAINT {key} PRIMARY KEY (project_id, fragment_id),
        DROP COLUMN claim_id;
"""
KEY = "memories_relation_pkey"

REACH = """
    -- Whose session sees a fragment, and from when until when one of its claims holds that stand with it.
    CREATE FUNCTION nova_reach(project uuid, fragment uuid)
    RETURNS TABLE (session_id varchar, valid_from timestamptz, valid_until timestamptz) LANGUAGE sql STABLE AS $$
        SELECT coalesce(max(c.session_id), ''),
            CASE WHEN bool_and(c.valid_from IS NOT NULL) THEN min(c.valid_from) END,
            CASE WHEN bool_and(c.valid_until IS NOT NULL) THEN max(c.valid_until) END
        FROM memories_claim c
        WHERE c.project_id = project AND c.fragment_id = fragment AND (c.verdict = '' OR NOT EXISTS (
            SELECT FROM memories_claim o
            WHERE o.project_id = project AND o.fragment_id = fragment AND o.verdict = ''));
    $$;

    CREATE OR REPLACE FUNCTION nova_index_keywords(fragments uuid[]) RETURNS void LANGUAGE sql AS $$
        INSERT INTO memories_keywords AS k (project_id, root_id, namespace_id, fragment_id, status, session_id, valid_from,
            valid_until, words, length)
        SELECT f.project_id, r.id, f.namespace_id, f.id, f.status, c.session_id, c.valid_from, c.valid_until,
            w.words || array_to_tsvector(nova_marks(f)), nova_word_count(w.words)
        FROM memories_fragment f
        CROSS JOIN LATERAL nova_reach(f.project_id, f.id) AS c
        JOIN memories_namespace n ON n.project_id = f.project_id AND n.id = f.namespace_id
        JOIN memories_namespace r ON r.project_id = n.project_id AND r.id = coalesce(n.parent_id, n.id)
        -- OFFSET 0: worked out once, not once for each use.
        CROSS JOIN LATERAL (SELECT to_tsvector(r.language::regconfig, f.content) AS words OFFSET 0) AS w
        WHERE f.project_id = nova_project() AND f.id = ANY (fragments)
        ON CONFLICT (project_id, root_id, namespace_id, fragment_id)
        DO UPDATE SET words = excluded.words, length = excluded.length, status = excluded.status,
            session_id = excluded.session_id, valid_from = excluded.valid_from, valid_until = excluded.valid_until;
    $$;

    CREATE OR REPLACE FUNCTION nova_fragment_status() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        root uuid := nova_root(NEW.namespace_id);
    BEGIN
        UPDATE memories_keywords SET status = NEW.status
            WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
        UPDATE memories_embedding SET status = NEW.status
            WHERE project_id = NEW.project_id AND root_id = root AND namespace_id = NEW.namespace_id AND fragment_id = NEW.id;
        UPDATE memories_claim SET status = nova_claim_status(NEW.status, verdict)
            WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
        UPDATE memories_mention SET status = NEW.status WHERE project_id = NEW.project_id AND fragment_id = NEW.id;
        RETURN NULL;
    END $$;

    CREATE OR REPLACE FUNCTION nova_claim_before() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'UPDATE' AND (NEW.project_id, NEW.fragment_id, NEW.authority)
            IS DISTINCT FROM (OLD.project_id, OLD.fragment_id, OLD.authority)
        THEN
            RAISE EXCEPTION 'the authority of a claim never changes' USING ERRCODE = 'NV001';
        END IF;
        IF TG_OP = 'INSERT' OR (NEW.status, NEW.verdict) IS DISTINCT FROM (OLD.status, OLD.verdict) THEN
            NEW.status := coalesce((SELECT nova_claim_status(f.status, NEW.verdict) FROM memories_fragment f
                WHERE f.project_id = NEW.project_id AND f.id = NEW.fragment_id), NEW.status);
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER claim_status BEFORE INSERT ON memories_claim FOR EACH ROW EXECUTE FUNCTION nova_claim_before();

    CREATE OR REPLACE FUNCTION nova_claim_reach() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
        c memories_claim := CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
        root uuid := nova_root(c.namespace_id);
        r record;
    BEGIN
        SELECT * INTO r FROM nova_reach(c.project_id, c.fragment_id);
        UPDATE memories_keywords SET session_id = r.session_id, valid_from = r.valid_from, valid_until = r.valid_until
            WHERE project_id = c.project_id AND root_id = root AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
        UPDATE memories_embedding SET session_id = r.session_id, valid_from = r.valid_from, valid_until = r.valid_until
            WHERE project_id = c.project_id AND root_id = root AND namespace_id = c.namespace_id AND fragment_id = c.fragment_id;
        UPDATE memories_mention SET session_id = r.session_id, valid_from = r.valid_from, valid_until = r.valid_until
            WHERE project_id = c.project_id AND fragment_id = c.fragment_id;
        UPDATE memories_relation SET session_id = c.session_id, valid_from = c.valid_from, valid_until = c.valid_until,
            status = c.status
            WHERE project_id = c.project_id AND claim_id = c.id;
        RETURN NULL;
    END $$;
    DROP TRIGGER claim_reach_new ON memories_claim;
    DROP TRIGGER claim_reach ON memories_claim;
    DROP TRIGGER claim_reach_gone ON memories_claim;
    CREATE TRIGGER claim_reach_new AFTER INSERT ON memories_claim FOR EACH ROW
        WHEN (NEW.session_id <> '' OR NEW.valid_from IS NOT NULL OR NEW.valid_until IS NOT NULL OR NEW.position > 0)
        EXECUTE FUNCTION nova_claim_reach();
    CREATE TRIGGER claim_reach AFTER UPDATE ON memories_claim FOR EACH ROW
        WHEN ((NEW.session_id, NEW.valid_from, NEW.valid_until, NEW.status, NEW.verdict)
            IS DISTINCT FROM (OLD.session_id, OLD.valid_from, OLD.valid_until, OLD.status, OLD.verdict))
        EXECUTE FUNCTION nova_claim_reach();
    CREATE TRIGGER claim_reach_gone AFTER DELETE ON memories_claim FOR EACH ROW
        WHEN (OLD.session_id <> '' OR OLD.valid_from IS NOT NULL OR OLD.valid_until IS NOT NULL OR OLD.position > 0)
        EXECUTE FUNCTION nova_claim_reach();

    -- A place in the text goes with the text.
    CREATE FUNCTION nova_fragment_spans() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        UPDATE memories_claim SET span_start = NULL, span_end = NULL
            WHERE project_id = NEW.project_id AND fragment_id = NEW.id AND span_start IS NOT NULL;
        RETURN NULL;
    END $$;
    CREATE TRIGGER fragment_spans AFTER UPDATE OF content ON memories_fragment
        FOR EACH ROW WHEN (NEW.content <> OLD.content) EXECUTE FUNCTION nova_fragment_spans();
"""


def of_one_claim() -> list[str]:
    """The functions and triggers as they were."""
    roots = in_module("0008_search_by_root")
    promises = in_module("0003_promises").TRIGGERS
    before = roots._function(promises, "nova_claim_before")
    triggers = promises[
        promises.index("CREATE TRIGGER claim_reach_new") : promises.index("CREATE FUNCTION nova_never_changes")
    ]
    return [
        """DROP TRIGGER fragment_spans ON memories_fragment; DROP FUNCTION nova_fragment_spans;
           DROP TRIGGER claim_status ON memories_claim; DROP TRIGGER claim_reach_new ON memories_claim;
           DROP TRIGGER claim_reach ON memories_claim; DROP TRIGGER claim_reach_gone ON memories_claim;""",
        before.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1),
        *(
            roots._function(text.replace("CREATE OR REPLACE FUNCTION", "CREATE FUNCTION"), name).replace(
                "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1
            )
            for text, name in (
                (roots.FUNCTIONS, "nova_index_keywords"),
                (roots.TRIGGERS, "nova_fragment_status"),
                (roots.TRIGGERS, "nova_claim_reach"),
            )
        ),
        triggers,
        "DROP FUNCTION nova_reach;",
    ]


FRAGMENT = {"db_constraint": False, "db_index": False, "on_delete": django.db.models.deletion.DO_NOTHING}
STATE = [
    migrations.RemoveConstraint(model_name="claim", name="claim_project_id"),
    migrations.AlterField(
        model_name="claim",
        name="fragment",
        field=models.ForeignKey(related_name="claims", to="memories.fragment", **FRAGMENT),
    ),
    migrations.AddField(
        model_name="claim",
        name="id",
        field=models.UUIDField(default=None, editable=False, primary_key=True, serialize=False),
        preserve_default=False,
    ),
    migrations.AddField(model_name="claim", name="position", field=models.PositiveSmallIntegerField(default=0)),
    migrations.AddField(model_name="claim", name="span_end", field=models.PositiveIntegerField(null=True)),
    migrations.AddField(model_name="claim", name="span_start", field=models.PositiveIntegerField(null=True)),
    migrations.AddField(
        model_name="claim",
        name="superseded_by",
        field=models.ForeignKey(null=True, related_name="+", to="memories.fragment", **FRAGMENT),
    ),
    migrations.AddField(
        model_name="claim",
        name="verdict",
        field=models.CharField(
            blank=True,
            choices=[("quarantined", "Quarantined"), ("superseded", "Superseded"), ("archived", "Archived")],
            default="",
            max_length=16,
        ),
    ),
    migrations.AddIndex(
        model_name="claim",
        index=models.Index(
            condition=models.Q(("superseded_by__isnull", False)),
            fields=["project", "superseded_by"],
            name="claim_by_successor",
        ),
    ),
    migrations.AddConstraint(
        model_name="claim", constraint=models.UniqueConstraint(fields=("project", "id"), name="claim_project_id")
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.UniqueConstraint(fields=("project", "fragment", "position"), name="claim_position"),
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.CheckConstraint(
            condition=models.Q(("position__gte", 0), ("position__lte", 19)), name="claim_among_others"
        ),
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.CheckConstraint(
            condition=models.Q(("verdict__in", ["", "quarantined", "superseded", "archived"])), name="claim_verdict"
        ),
    ),
    migrations.AddConstraint(
        model_name="claim",
        constraint=models.CheckConstraint(
            condition=models.Q(
                models.Q(("span_end__isnull", True), ("span_start__isnull", True)),
                ("span_start__lt", models.F("span_end")),
                _connector="OR",
            ),
            name="claim_span",
        ),
    ),
]
RELATION_STATE = [
    migrations.AddField(
        model_name="relation", name="claim_id", field=models.UUIDField(default=None), preserve_default=False
    ),
    migrations.AlterField(
        model_name="relation",
        name="pk",
        field=models.CompositePrimaryKey(
            "project_id", "claim_id", blank=True, editable=False, primary_key=True, serialize=False
        ),
    ),
    migrations.AddIndex(
        model_name="relation",
        index=models.Index(fields=["project", "fragment"], name="relation_by_fragment"),
    ),
]
HISTORY = ("insert_insert", "update_update", "delete_delete")


class Migration(migrations.Migration):
    """Columns, keys, constraints, triggers; the history knows a claim by its id."""

    dependencies = [("memories", "0012_history_of_new_columns")]

    operations = [
        migrations.RunSQL(migrations.RunSQL.noop, history_by_triggers("memories")),
        *(pgtrigger.migrations.RemoveTrigger(model_name="claim", name=name) for name in HISTORY),
        migrations.RunSQL(unrecorded("memories_claim"), recorded("memories_claim", "fragment_id", "fragment_id")),
        migrations.RunSQL([CLAIMS, SUCCESSOR], [UNDO_SUCCESSOR, UNDO_CLAIMS], state_operations=STATE),
        migrations.RunSQL(RELATIONS.format(key=KEY), UNDO_RELATIONS.format(key=KEY), state_operations=RELATION_STATE),
        migrations.AlterField(
            model_name="claimevent",
            name="fragment",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="memories.fragment",
            ),
        ),
        migrations.RunSQL(REACH, of_one_claim()),
        migrations.RunSQL(recorded("memories_claim", "id", "fragment_id"), unrecorded("memories_claim")),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT new_values."authority", new_values."exclusive", new_values."fragment_id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', new_values."id", new_values."predicate_digest", new_values."project_id", new_values."scope", new_values."slot", new_values."status", new_values."subject_digest", new_values."valid_from", new_values."valid_until", new_values."value_digest" FROM ( SELECT new_values.* FROM new_values  ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="6ea0dc7644af83f4b8ad4a767051d8da01cd62c8",
                    level="STATEMENT",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_97a9c",
                    referencing="REFERENCING NEW TABLE AS new_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT new_values."authority", new_values."exclusive", new_values."fragment_id", new_values."key_digest", new_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', new_values."id", new_values."predicate_digest", new_values."project_id", new_values."scope", new_values."slot", new_values."status", new_values."subject_digest", new_values."valid_from", new_values."valid_until", new_values."value_digest" FROM ( SELECT new_values.* FROM old_values JOIN new_values ON (old_values."id") = (new_values."id") WHERE (old_values."authority" IS DISTINCT FROM (new_values."authority") OR old_values."exclusive" IS DISTINCT FROM (new_values."exclusive") OR old_values."fragment_id" IS DISTINCT FROM (new_values."fragment_id") OR old_values."key_digest" IS DISTINCT FROM (new_values."key_digest") OR old_values."namespace_id" IS DISTINCT FROM (new_values."namespace_id") OR old_values."predicate_digest" IS DISTINCT FROM (new_values."predicate_digest") OR old_values."project_id" IS DISTINCT FROM (new_values."project_id") OR old_values."scope" IS DISTINCT FROM (new_values."scope") OR old_values."slot" IS DISTINCT FROM (new_values."slot") OR old_values."status" IS DISTINCT FROM (new_values."status") OR old_values."subject_digest" IS DISTINCT FROM (new_values."subject_digest") OR old_values."valid_from" IS DISTINCT FROM (new_values."valid_from") OR old_values."valid_until" IS DISTINCT FROM (new_values."valid_until") OR old_values."value_digest" IS DISTINCT FROM (new_values."value_digest")) ) AS new_values, _pgh_attached_context; RETURN NULL;',
                    hash="98e02d0ae4843e779755c16329286c9218eab427",
                    level="STATEMENT",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_cf593",
                    referencing="REFERENCING OLD TABLE AS old_values  NEW TABLE AS new_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="claim",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='WITH _pgh_attached_context AS ( SELECT _pgh_attach_context() AS value ) INSERT INTO "memories_claimevent" ("authority", "exclusive", "fragment_id", "key_digest", "namespace_id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "predicate_digest", "project_id", "scope", "slot", "status", "subject_digest", "valid_from", "valid_until", "value_digest") SELECT old_values."authority", old_values."exclusive", old_values."fragment_id", old_values."key_digest", old_values."namespace_id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', old_values."id", old_values."predicate_digest", old_values."project_id", old_values."scope", old_values."slot", old_values."status", old_values."subject_digest", old_values."valid_from", old_values."valid_until", old_values."value_digest" FROM ( SELECT old_values.* FROM old_values  ) AS old_values, _pgh_attached_context; RETURN NULL;',
                    hash="93f6f25b7d7e569b0084f89ddc88e11cfbdfd4ca",
                    level="STATEMENT",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_8be05",
                    referencing="REFERENCING OLD TABLE AS old_values ",
                    table="memories_claim",
                    when="AFTER",
                ),
            ),
        ),
        migrations.RunSQL(history_by_triggers("memories"), migrations.RunSQL.noop),
    ]
