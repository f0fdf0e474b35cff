"""What an upgrade does to who works on the database meanwhile, and what an interrupted one leaves behind."""

import threading
import time

import psycopg
import pytest

from novamem import database, dumps, env, readiness
from script.benches import upgrades
from tests.conftest import TEST_DATABASE
from tests.upgrades.test_upgrades import HERE, manage

pytestmark = pytest.mark.long

HELD, BOUND = 5, 2  # seconds; the bound leaves room for a busy machine
INSTRUCTIONS = """
    CREATE INDEX CONCURRENTLY fragment_instructions ON memories_fragment (project_id, namespace_id)
    WHERE extra ? 'standing_instruction'
"""
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'"

FORMER = "0.1.0rc1"  # the last one to which migrations followed


@pytest.fixture
def logins():
    """The logins to a database of a former release."""
    server = env.load().own_database()
    made = database.prepare_database(server, f"{TEST_DATABASE}_online")
    dumps.restore(made.owner, HERE / FORMER / "database.dump")
    yield made
    database.drop_database(server, f"{TEST_DATABASE}_online")


def test_readers_wait_no_second_while_a_migration_waits_for_an_open_transaction(logins):
    upgrade = threading.Thread(target=readiness.bring_up, args=(logins,), kwargs={"dumped": False})
    waits, until = [], None
    with psycopg.connect(logins.owner, autocommit=True) as reader, psycopg.connect(logins.owner) as open_one:
        open_one.execute("SELECT count(*) FROM memories_project")
        upgrade.start()
        while upgrade.is_alive() and (until is None or time.monotonic() < until):
            if until is None and reader.execute(WAITING).fetchone() != (0,):
                until = time.monotonic() + HELD
                threading.Timer(HELD, open_one.rollback).start()
            sent = time.monotonic()
            reader.execute("SELECT count(*) FROM memories_project")
            waits.append(time.monotonic() - sent)
            time.sleep(0.02)
        upgrade.join()
    assert until is not None
    assert max(waits) < BOUND
    readiness.check_current(logins.app)


def test_an_index_that_an_interrupted_upgrade_left_invalid_is_built_anew(logins):
    with psycopg.connect(logins.owner, autocommit=True) as connection, psycopg.connect(logins.owner) as open_one:
        open_one.execute("UPDATE memories_fragment SET importance = importance")
        connection.execute("SET lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            connection.execute(INSTRUCTIONS)
        open_one.rollback()
        valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'fragment_instructions'::regclass"
        assert connection.execute(valid).fetchone() == (False,)
        readiness.bring_up(logins, dumped=False)
        assert connection.execute(valid).fetchone() == (True,)


def test_an_index_is_built_beside_an_open_transaction(logins, tmp_path):
    before = manage(logins, tmp_path, "migrate", "memories", "0030", "--database", "owner", "--verbosity", "0")
    assert before.returncode == 0, before.stderr
    upgrade = threading.Thread(target=readiness.bring_up, args=(logins,), kwargs={"dumped": False})
    waiting = "SELECT count(*) FROM pg_stat_progress_create_index WHERE phase LIKE 'waiting%'"
    with psycopg.connect(logins.owner, autocommit=True) as connection, psycopg.connect(logins.owner) as open_one:
        open_one.execute("UPDATE memories_fragment SET importance = importance")
        upgrade.start()
        while connection.execute(waiting).fetchone() == (0,):
            assert upgrade.is_alive()
            time.sleep(0.02)
        time.sleep(BOUND)
        open_one.rollback()
        upgrade.join()
    readiness.check_current(logins.app)


def test_statements_of_the_former_release_succeed_while_its_database_is_upgraded():
    server = env.load().own_database()
    report = upgrades.measure(server, release=FORMER, fragments=200)
    assert report.failures == []
    assert report.fragments == 200
    assert {"memories.0031_standing_instructions", "memories.0033_password_resets"} <= {
        one.name for one in report.spans
    }
    assert all(0 < one.read < one.seconds for one in report.spans[:2])
