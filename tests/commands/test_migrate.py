"""migrate waits for locks a moment at a time, and not for ever."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.db.migrations.executor import MigrationExecutor

from memories.management.commands import migrate
from tests.conftest import as_owner

TABLES = "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE tablename ~ '^(memories|conflicts)_'"
APPLIED = "SELECT count(*) FROM django_migrations WHERE app = 'conflicts'"


def test_migrate_when_others_keep_a_table_names_the_migration_and_changes_nothing(committed, monkeypatch):
    monkeypatch.setattr(migrate, "PATIENCE", 0)
    executor = MigrationExecutor(connections["owner"])
    *_, before, _ = sorted(name for app, name in executor.loader.disk_migrations if app == "conflicts")
    ((first, _),) = executor.migration_plan([("conflicts", before)])
    with as_owner() as other, other.transaction():
        (tables,) = other.execute(TABLES).fetchone()
        (applied,) = other.execute(APPLIED).fetchone()
        other.execute(f"LOCK TABLE {tables} IN SHARE MODE")
        with pytest.raises(CommandError, match=rf"kept what {first.app_label}\.{first.name} changes"):
            call_command("migrate", "conflicts", before, database="owner", verbosity=0)
        assert other.execute(APPLIED).fetchone() == (applied,)
