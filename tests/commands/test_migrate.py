"""migrate waits for locks a moment at a time, and not for ever."""

import pytest
from django.core.management import CommandError, call_command

from memories.management.commands import migrate
from tests.conftest import as_owner

APPLIED = "SELECT count(*) FROM django_migrations WHERE name = '0033_password_resets'"


def test_migrate_when_others_keep_a_table_names_the_migration_and_changes_nothing(committed, monkeypatch):
    monkeypatch.setattr(migrate, "PATIENCE", 0)
    with as_owner() as other, other.transaction():
        other.execute("SELECT count(*) FROM memories_loginevent")
        with pytest.raises(CommandError, match=r"kept what memories\.0033_password_resets changes"):
            call_command("migrate", "memories", "0032", database="owner", verbosity=0)
        assert other.execute(APPLIED).fetchone() == (1,)
