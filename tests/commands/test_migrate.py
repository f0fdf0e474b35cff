"""migrate waits for locks a moment at a time, and not for ever."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from memories.management.commands import migrate
from tests.conftest import as_owner

TABLES = "SELECT string_agg(quote_ident(tablename), ', ') FROM pg_tables WHERE tablename LIKE 'memories@_%' ESCAPE '@'"
APPLIED = "SELECT count(*) FROM django_migrations WHERE app = 'memories'"


def test_migrate_when_others_keep_a_table_names_the_migration_and_changes_nothing(committed, monkeypatch):
    monkeypatch.setattr(migrate, "PATIENCE", 0)
    *_, before, last = sorted(name for app, name in MigrationLoader(connection).disk_migrations if app == "memories")
    with as_owner() as other, other.transaction():
        (tables,) = other.execute(TABLES).fetchone()
        (applied,) = other.execute(APPLIED).fetchone()
        other.execute(f"LOCK TABLE {tables} IN SHARE MODE")
        with pytest.raises(CommandError, match=rf"kept what memories\.{last} changes"):
            call_command("migrate", "memories", before, database="owner", verbosity=0)
        assert other.execute(APPLIED).fetchone() == (applied,)
