"""What the planner is told of a restore: how many memories it wrote, before anything refers to them."""

import pytest
from django.conf import settings
from django.db import connection
from structlog.testing import capture_logs

from memories.backups.restoration import insertion
from memories.models.sql import fetch
from novamem import database
from tests.backups.conftest import live


@pytest.fixture
def beside(db):
    """A connection of the owner's beside the test's transaction."""
    with database.connect(
        database.url_for(settings.ENV["DATABASE_OWNER_URL"], connection.settings_dict["NAME"])
    ) as other:
        yield other


@pytest.fixture
def estimates(monkeypatch):
    """How many memories the planner takes the table to hold before anything that refers to them is written."""
    counts, put_successors = [], insertion.update_successors

    def counted(project_id):
        ((count,),) = fetch("SELECT reltuples FROM pg_class WHERE oid = 'memories_fragment'::regclass", [])
        counts.append(count)
        put_successors(project_id)

    monkeypatch.setattr(insertion, "update_successors", counted)
    monkeypatch.setattr(insertion, "MANY", 20)
    return counts


@pytest.fixture
def lost(principal, store, back_up, wipe, beside):
    """Makes the backup of some memories, each followed by another; none is left, and the planner knows it."""

    def made(pairs):
        for number in range(pairs):
            old, new = (store("acme:main", f"Heron {number} nests by the {place}.") for place in ("mill", "weir"))
            live(principal, "UPDATE memories_fragment SET superseded_by_id = %s WHERE id = %s", new.id, old.id)
        backup = back_up()
        wipe()
        beside.execute("ANALYZE memories_fragment")  # as autovacuum does: it sees nothing of a transaction that is open
        return backup

    return made


def test_the_planner_is_told_of_many_memories_before_anything_refers_to_them(lost, restore, estimates):
    """Nobody else tells it; where it takes the table for empty, each check of a reference may read all of a project."""
    assert restore(lost(10))["insert"] == 20
    assert estimates == [20]


def test_of_few_memories_the_planner_need_not_know(lost, restore, estimates):
    assert restore(lost(9))["insert"] == 18
    assert estimates == [0]


@pytest.mark.long
def test_a_restore_does_not_wait_for_whoever_analyzes_meanwhile(lost, restore, estimates, beside):
    backup = lost(10)
    with beside.transaction():
        beside.execute("LOCK TABLE memories_fragment IN SHARE UPDATE EXCLUSIVE MODE")
        with capture_logs() as logs:
            assert restore(backup)["insert"] == 20
    assert estimates == [0]
    assert "restored_fragments_not_analyzed" in [entry["event"] for entry in logs]
    ((settings_of_it,),) = fetch("SELECT proconfig FROM pg_proc WHERE proname = 'nova_analyze_fragments'", [])
    assert "lock_timeout=2s" in settings_of_it
