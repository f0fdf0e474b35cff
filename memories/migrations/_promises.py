"""What every tenant table is promised, as SQL for the migrations: composite references, row-level security, history.

References between tenant tables are (project_id, id), so that nothing can point across projects; they are not
deferrable and written here, because Django knows single columns only (docs/decisions/0003).
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

# {table: {column: (target table, what happens when the target goes)}}
References = dict[str, dict[str, tuple[str, str]]]

GLOBAL = {"memories_embeddingmodel"}
KEYED_BY_FRAGMENT = {"memories_claim"}


def reference(table: str, column: str, target: str, on_delete: str) -> str:
    """One foreign key, by (project, id) unless the target is global."""
    id_column = "fragment_id" if target in KEYED_BY_FRAGMENT else "id"
    here, there = (column, id_column) if target in GLOBAL else (f"project_id, {column}", f"project_id, {id_column}")
    return (
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fk FOREIGN KEY ({here}) REFERENCES {target} ({there}) "
        f"ON DELETE {on_delete};"
    )


def reference_to_project(table: str) -> str:
    """Bind rows to their project; those that hang on another row of it need that one alone (0036)."""
    return (
        f"ALTER TABLE {table} ADD CONSTRAINT {table}_project_fk FOREIGN KEY (project_id) "
        "REFERENCES memories_project (id) ON DELETE CASCADE;"
    )


def implied_references(app: str, tables: Iterable[str]) -> tuple[list[str], list[str]]:
    """What drops the tables' references to their project, and what adds them again."""
    names = [f"{app}_{table}" for table in tables]
    return [f"ALTER TABLE {name} DROP CONSTRAINT {name}_project_fk;" for name in names], [
        reference_to_project(name) for name in names
    ]


def guard(table: str) -> str:
    """Row-level security by project, for the table's owner too."""
    return f"""
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
        CREATE POLICY by_project ON {table}
            USING (project_id = NULLIF(current_setting('nova.project', true), '')::uuid);
    """


def unguard(table: str) -> str:
    """The reverse of `guard`."""
    return f"""
        DROP POLICY by_project ON {table};
        ALTER TABLE {table} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
    """


def tenant_tables(references: References) -> list[str]:
    """References and row-level security of these tables."""
    return [
        sql
        for table, columns in references.items()
        for sql in (
            reference_to_project(table),
            *(reference(table, column, target, on_delete) for column, (target, on_delete) in columns.items()),
            guard(table),
        )
    ]


def undo_tenant_tables(references: References) -> list[str]:
    """The reverse of `tenant_tables`."""
    return [
        sql
        for table, columns in references.items()
        for sql in (
            unguard(table),
            *(f"ALTER TABLE {table} DROP CONSTRAINT {table}_{column}_fk;" for column in [*columns, "project"]),
        )
    ]


# Only the triggers write events, and they do it as the owner: the app role can neither forge nor change one.
TRIGGER_FUNCTIONS = """
    DO $$ DECLARE f regprocedure; BEGIN
        FOR f IN SELECT p.oid::regprocedure FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                 WHERE p.proname LIKE 'pgtrigger%' AND t.tgrelid::regclass::text LIKE '{app}%' LOOP
            EXECUTE format('ALTER FUNCTION %s {security}', f);
            EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f);
        END LOOP;
    END $$;
"""


def event_tables(tables: list[str], *, app: str) -> list[str]:
    """The tables of history: guarded, written by triggers alone."""
    return [
        *(
            sql
            for table in tables
            for sql in (guard(table), f"REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON {table} FROM nova_app;")
        ),
        history_by_triggers(app),
    ]


def history_by_triggers(app: str) -> str:
    """Lets the triggers of history write as the owner; to be said again after any of them was made anew."""
    return TRIGGER_FUNCTIONS.format(app=app, security="SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp")


def digested(table: str, key: str, *columns: str) -> str:
    """Keyed digests of these columns in a table's history, as a trigger on its events works them out."""
    told = ", ".join(f"r.{column}" for column in columns)
    return f"""
        CREATE FUNCTION nova_details_digest(salt bytea, r {table}) RETURNS bytea LANGUAGE sql STABLE AS $$
            SELECT sha256(salt || convert_to(jsonb_build_array({told})::text, 'UTF8') || salt)
        $$;
        CREATE FUNCTION {table}event_details() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.details_digest := (SELECT nova_details_digest(p.salt, l) FROM {table} l
                JOIN memories_project p ON p.id = l.project_id WHERE l.{key} = NEW.pgh_obj_id);
            RETURN NEW;
        END $$;
        CREATE TRIGGER {table}event_details BEFORE INSERT ON {table}event FOR EACH ROW
            WHEN (NEW.pgh_label <> 'delete') EXECUTE FUNCTION {table}event_details();
    """


def undo_digested(table: str) -> str:
    """The reverse of `digested`."""
    return f"""
        DROP TRIGGER {table}event_details ON {table}event;
        DROP FUNCTION {table}event_details();
        DROP FUNCTION nova_details_digest(bytea, {table});
    """


def undo_event_tables(tables: list[str], *, app: str) -> list[str]:
    """The reverse of `event_tables`."""
    return [
        TRIGGER_FUNCTIONS.format(app=app, security="SECURITY INVOKER RESET search_path"),
        *(sql for table in tables for sql in (unguard(table), f"GRANT INSERT, UPDATE, DELETE ON {table} TO nova_app;")),
    ]


def recorded(table: str, row_id: str, fragment: str) -> str:
    """Keeps what stood before in a table's rows while a run is named, whoever changes them; see `nova_keep_before`."""
    return f"""
        CREATE TRIGGER {table}_recorded AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW
            WHEN (NULLIF(current_setting('nova.run', true), '') IS NOT NULL)
            EXECUTE FUNCTION nova_keep_before('{row_id}', '{fragment}');
    """


def unrecorded(table: str) -> str:
    """The reverse of `recorded`."""
    return f"DROP TRIGGER {table}_recorded ON {table};"


def key_lookup(**columns: str) -> str:
    """The function that finds a key by its id, with further columns of the grant by their types."""
    told = "".join(f", {name} {kind}" for name, kind in columns.items())
    read = "".join(f", g.{name}" for name in columns)
    return f"""
        DROP FUNCTION nova_find_key;
        -- A key is looked up before its project is known, so this one runs as the owner; it needs the exact id.
        CREATE FUNCTION nova_find_key(wanted text)
        RETURNS TABLE (id uuid, digest bytea, project_id uuid, project_name text, owner_id uuid, owner_name text,
            grant_id uuid, namespaces text[], verbs text[], ceiling text, may_attest_user boolean,
            requests_per_minute integer, expires_at timestamptz, revoked_at timestamptz{told})
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
            SELECT k.id, k.digest, k.project_id, p.name, k.owner_id, o.name, g.id, g.namespaces, g.verbs, g.ceiling,
                g.may_attest_user, g.requests_per_minute, k.expires_at, k.revoked_at{read}
            FROM memories_apikey k
            JOIN memories_project p ON p.id = k.project_id
            JOIN memories_owner o ON o.project_id = k.project_id AND o.id = k.owner_id
            JOIN memories_grant g ON g.project_id = k.project_id AND g.id = k.grant_id
            WHERE k.key_id = wanted;
        $$;
    """


def in_module(name: str) -> Any:
    """Another migration, whose name no import statement takes."""
    return import_module(f"memories.migrations.{name}")
