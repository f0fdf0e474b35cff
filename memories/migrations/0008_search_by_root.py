"""The search tables by root namespace: a namespace and its users lie side by side (docs/spec.md §2.2).

Tables are made anew and filled; vector indexes are built again in the background.
"""

import django.db.models.deletion
from django.db import migrations, models

from memories.migrations._promises import guard, in_module, reference
from memories.migrations._sql import sql_of

PARTITIONS = 16
KEYS = {
    "memories_embedding": ("project_id, {}namespace_id, fragment_id, model_id"),
    "memories_keywords": ("project_id, {}namespace_id, fragment_id"),
}
MORE = {
    "memories_embedding": """
        ALTER TABLE memories_embedding ADD CONSTRAINT memories_embedding_model_id_fk FOREIGN KEY (model_id, dim)
            REFERENCES memories_embeddingmodel (id, dim) ON DELETE RESTRICT;
        CREATE TRIGGER embedding_connect AFTER INSERT ON memories_embedding REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION nova_connect_embedded();
    """,
    "memories_keywords": "CREATE INDEX ON memories_keywords USING gin (words);",
}
# A vector lies in its row, unless the row would not fit on a page (4000 dimensions and a long name).
STORED = {
    "memories_embedding": "ALTER TABLE memories_embedding ALTER COLUMN vector SET STORAGE {};",
    "memories_keywords": "",
}


def partitioned_by(column: str, table: str, *, columns: str, more: str, source: str) -> str:
    """Makes a search table anew, partitioned by a column, with the rows that stand in it."""
    root = "root_id, " if column == "root_id" else ""
    return f"""
        ALTER TABLE {table} RENAME TO {table}_former;
        DO $$ BEGIN
            FOR n IN 0..{PARTITIONS - 1} LOOP
                EXECUTE format('ALTER TABLE {table}_%s RENAME TO {table}_former_%s', lpad(n::text, 2, '0'), n);
            END LOOP;
        END $$;
        CREATE TABLE {table} (LIKE {table}_former INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED
            INCLUDING STORAGE {more}) PARTITION BY HASH ({column});
        {"ALTER TABLE " + table + " DROP COLUMN root_id;" if not root else ""}
        {STORED[table].format("MAIN" if root else "PLAIN")}
        DO $$ BEGIN
            FOR n IN 0..{PARTITIONS - 1} LOOP
                EXECUTE format('CREATE TABLE {table}_%s PARTITION OF {table} FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER %s)'
                    ' WITH (fillfactor = 85{", toast_tuple_target = 8160" if STORED[table] else ""})', lpad(n::text, 2, '0'), n);
            END LOOP;
        END $$;
        INSERT INTO {table} ({root}{columns}) SELECT {"nova_root(namespace_id), " if root else ""}{columns} FROM {table}_former;
        DROP TABLE {table}_former;
        ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY ({KEYS[table].format(root)});
        CREATE INDEX ON {table} (fragment_id);
        ALTER TABLE {table} ADD CONSTRAINT {table}_project_fk FOREIGN KEY (project_id)
            REFERENCES memories_project (id) ON DELETE CASCADE;
        {reference(table, "fragment_id", "memories_fragment", "CASCADE")}
        {guard(table)}
        {MORE[table]}
    """


COLUMNS = "project_id, namespace_id, fragment_id, status, session_id, valid_from, valid_until"
TABLES = {"memories_embedding": f"{COLUMNS}, model_id, vector, cold", "memories_keywords": f"{COLUMNS}, words, length"}


def remade(column: str) -> list[str]:
    """Both tables, partitioned by this column."""
    more = ", root_id uuid NOT NULL" if column == "root_id" else ""
    return [
        partitioned_by(column, table, columns=columns, more=more, source=table) for table, columns in TABLES.items()
    ]


STATISTICS = """
    ALTER TABLE memories_documentfrequency ADD COLUMN all_users boolean NOT NULL DEFAULT false,
        DROP CONSTRAINT memories_documentfrequency_pkey;
    ALTER TABLE memories_documentfrequency ADD PRIMARY KEY (project_id, namespace_id, all_users, lexeme);
"""
UNDO_STATISTICS = """
    DELETE FROM memories_documentfrequency WHERE all_users;
    ALTER TABLE memories_documentfrequency DROP CONSTRAINT memories_documentfrequency_pkey, DROP COLUMN all_users;
    ALTER TABLE memories_documentfrequency ADD PRIMARY KEY (project_id, namespace_id, lexeme);
"""

FUNCTIONS = sql_of(__file__, "functions")
TRIGGERS = sql_of(__file__, "triggers")


def without_root() -> list[str]:
    """The functions as they were."""
    former = in_module("0002_search_tables").FUNCTIONS
    promises = in_module("0003_promises").TRIGGERS
    search = [_function(former, name) for name in ("nova_asked", "nova_expected", "nova_passing", "nova_keyword_hits")]
    index = _function(former, "nova_index_keywords")
    triggers = [_function(promises, f"nova_{name}") for name in ("fragment_status", "fragment_marks", "claim_reach")]
    anew = [text.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1) for text in (index, *triggers)]
    return ["DROP FUNCTION nova_keyword_hits, nova_passing, nova_expected, nova_asked;", *search, *anew]


def _function(text: str, name: str) -> str:
    """One function's definition out of many."""
    begin = text.index(f"CREATE FUNCTION {name}(")
    return text[begin : text.index("$$;", begin) + 3]


FIELD = {"db_constraint": False, "db_index": False, "on_delete": django.db.models.deletion.DO_NOTHING}
KEY = {"blank": True, "editable": False, "primary_key": True, "serialize": False}
ROOT = models.ForeignKey(**FIELD, related_name="+", to="memories.namespace")


class Migration(migrations.Migration):
    """Search tables by root, statistics of all users of one."""

    dependencies = [("memories", "0007_users")]

    operations = [
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(remade("root_id"), remade("namespace_id"))],
            [
                migrations.AddField("embedding", "root", ROOT),
                migrations.AddField("keywords", "root", ROOT),
                migrations.AlterField(
                    "embedding",
                    "pk",
                    models.CompositePrimaryKey(
                        "project_id", "root_id", "namespace_id", "fragment_id", "model_id", **KEY
                    ),
                ),
                migrations.AlterField(
                    "keywords",
                    "pk",
                    models.CompositePrimaryKey("project_id", "root_id", "namespace_id", "fragment_id", **KEY),
                ),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(STATISTICS, UNDO_STATISTICS)],
            [
                migrations.AddField("documentfrequency", "all_users", models.BooleanField(default=False)),
                migrations.AlterField(
                    "documentfrequency",
                    "pk",
                    models.CompositePrimaryKey("project_id", "namespace_id", "all_users", "lexeme", **KEY),
                ),
            ],
        ),
        migrations.RemoveConstraint("keywordstatistics", "keyword_statistics_once"),
        migrations.AddField("keywordstatistics", "all_users", models.BooleanField(default=False)),
        migrations.AddConstraint(
            "keywordstatistics",
            models.UniqueConstraint(fields=("project", "namespace", "all_users"), name="keyword_statistics_once"),
        ),
        migrations.RunSQL(FUNCTIONS, without_root()),
        migrations.RunSQL(TRIGGERS, migrations.RunSQL.noop),
    ]
