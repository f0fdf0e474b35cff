"""What every tenant table promises: isolation, keys that start with the project, and what it says of itself."""

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections

from memories.models import AccountEvent, TableSpec, table_spec
from memories.models.history import event_models

GLOBAL = {"memories_project", "memories_membership", "memories_embeddingmodel", "memories_heartbeat"}
GLOBAL |= {"memories_ratebudget", "memories_seat", "memories_loginevent", "memories_accountevent"}
MODELS = [
    m for m in apps.get_models() if m._meta.app_label in ("memories", "conflicts") and m._meta.db_table not in GLOBAL
]
TENANT = pytest.mark.parametrize("model", MODELS, ids=lambda model: model._meta.db_table)


def ask(query, *values):
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()


def references_of(model):
    """Of each its name, target, whether it waits, its columns, and whether none of these may be null."""
    return ask(
        """SELECT c.conname, c.confrelid::regclass::text, c.condeferrable, t.columns, t.never_null
           FROM pg_constraint c CROSS JOIN LATERAL (
               SELECT array_agg(a.attname) AS columns, bool_and(a.attnotnull) AS never_null
               FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)) AS t
           WHERE c.contype = 'f' AND c.conrelid = %s::regclass""",
        model._meta.db_table,
    )


@TENANT
def test_it_belongs_to_a_project(model, db):
    rows = ask(
        "SELECT is_nullable FROM information_schema.columns WHERE table_name = %s AND column_name = 'project_id'",
        model._meta.db_table,
    )
    assert rows == [("NO",)]


@TENANT
def test_row_level_security_is_on_and_forced(model, db):
    (row,) = ask(
        "SELECT relrowsecurity, relforcerowsecurity FROM pg_class WHERE oid = %s::regclass", model._meta.db_table
    )
    assert row == (True, True)
    ((using,),) = ask(
        "SELECT qual FROM pg_policies WHERE tablename = %s AND permissive = 'PERMISSIVE'", model._meta.db_table
    )
    assert "NULLIF(current_setting('nova.project'::text, true), ''::text)" in using


@TENANT
def test_unique_keys_start_with_the_project_but_for_the_own_id(model, db):
    keys = ask(
        """SELECT i.relname, array_agg(a.attname ORDER BY k.position)
           FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
           CROSS JOIN LATERAL unnest(x.indkey::int[]) WITH ORDINALITY AS k (number, position)
           JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number
           WHERE x.indrelid = %s::regclass AND (x.indisunique OR x.indisexclusion)
           GROUP BY i.relname""",
        model._meta.db_table,
    )
    own = {("id",), ("pgh_id",), ("fragment_id",)}
    assert [key for key in keys if tuple(key[1]) not in own and key[1][0] != "project_id"] == []


@TENANT
def test_references_to_tenants_carry_the_project_and_do_not_wait(model, db):
    for name, target, deferrable, columns, _ in references_of(model):
        assert not deferrable, name
        assert target in GLOBAL or "project_id" in columns, name


@TENANT
def test_it_refers_to_its_project_where_nothing_else_binds_it_there(model, db):
    rows = references_of(model)
    binding = [target for _, target, *_, never_null in rows if never_null and target not in GLOBAL]
    # Events outlive what they tell of.
    bound = bool(binding) or model in event_models()
    assert ("memories_project" in {target for _, target, *_ in rows}) != bound


@TENANT
def test_it_says_how_it_is_treated(model):
    spec = model.spec
    assert isinstance(spec, TableSpec)
    assert spec.kind != "canonical" or spec.travels
    assert spec.kind != "derived" or spec.rebuild
    assert {*spec.left_out, *spec.later, *spec.belongs_to} <= {*table_spec.columns_of(model), *spec.made}


@TENANT
def test_rows_that_go_with_their_fragment_are_deleted_by_the_database(model, db):
    cascading = ask(
        """SELECT a.attname FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid
           WHERE a.attnum = ANY (c.conkey) AND c.contype = 'f' AND c.confdeltype = 'c' AND c.conrelid = %s::regclass
               AND c.confrelid = 'memories_fragment'::regclass AND a.attname <> 'project_id'""",
        model._meta.db_table,
    )
    if model.spec.erase == "cascade":
        assert {name for (name,) in cascading} >= set(model.spec.belongs_to)


def test_a_table_when_it_has_no_spec_does_not_start(monkeypatch):
    monkeypatch.delattr("memories.models.LlmCall.spec")
    with pytest.raises(ImproperlyConfigured, match=r"memories\.LlmCall has no TableSpec"):
        table_spec.specs.__wrapped__()


def test_every_tenant_table_in_the_database_is_known(db):
    tables = ask(
        """SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
           WHERE a.attname = 'project_id' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"""
    )
    assert {name for (name,) in tables} - GLOBAL == {model._meta.db_table for model in MODELS}


def test_the_tests_run_as_the_app_role(db):
    ((role, bypass),) = ask("SELECT current_user, rolbypassrls OR rolsuper FROM pg_roles WHERE rolname = current_user")
    assert (role, bypass) == ("nova_app", False)


def test_the_app_role_owns_nothing(db):
    owned = ask(
        "SELECT relname FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner"
        " WHERE r.rolname = 'nova_app' AND relpersistence <> 't'"  # temporary ones are its own
    )
    assert owned == []


@pytest.mark.parametrize("model", [*event_models(), AccountEvent], ids=lambda model: model._meta.db_table)
def test_the_app_role_can_only_read_events(model, db):
    rights = ask(
        "SELECT has_table_privilege('nova_app', %s, 'INSERT'), has_table_privilege('nova_app', %s, 'UPDATE'),"
        " has_table_privilege('nova_app', %s, 'DELETE'), has_table_privilege('nova_app', %s, 'TRUNCATE')",
        *[model._meta.db_table] * 4,
    )
    assert rights == [(False, False, False, False)]


def test_definer_functions_pin_their_search_path(db):
    rows = ask("SELECT proname, proconfig FROM pg_proc WHERE prosecdef AND proname LIKE ANY ('{nova%%,pgtrigger%%}')")
    assert {name for name, _ in rows if name.startswith("nova")} == {
        "nova_account_event",
        "nova_carried",
        "nova_claim_notices",
        "nova_fragment_notices",
        "nova_keyword_hits",
        "nova_passing",
        "nova_find_key",
        "nova_analyze_fragments",
        "nova_analyze_search",
        "nova_connect_embedded",
        "nova_unmentioned",
        "nova_forget_logins",
        "nova_let_history_go",
        "nova_let_lost_history_go",
        "nova_readings",
        "nova_workload",
    }
    assert any(name.startswith("pgtrigger") for name, _ in rows)
    assert all("search_path=pg_catalog, public, pg_temp" in config for _, config in rows)


def test_there_are_two_aliases_of_one_database():
    assert set(connections) == {"default", "owner"}
