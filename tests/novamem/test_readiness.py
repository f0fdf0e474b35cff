"""What brings the tables to where the code expects them, and what it says to a database of another version."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen

import psycopg
import pytest

from novamem import database, env, readiness
from novamem.database import Logins, NotPrepared
from novamem.embedded import running

pytestmark = pytest.mark.long  # each starts processes


@pytest.fixture(scope="module")
def migrated(data_dir: Path) -> Iterator[Logins]:
    """A database that was migrated as the very first thing."""
    with running(data_dir) as logins:
        made = database.prepare_database(logins, "readiness")
        readiness.begin(made)
        yield made


@pytest.fixture(autouse=True)
def kept(migrated: Logins) -> Iterator[None]:
    """Puts back what a test changes in the state of the migrations."""
    with psycopg.connect(migrated.owner) as connection:
        before = connection.execute("SELECT obj_description('django_migrations'::regclass)").fetchone()
    assert before
    yield
    with psycopg.connect(migrated.owner) as connection:
        connection.execute(f"COMMENT ON TABLE django_migrations IS '{before[0]}'".encode())
        connection.execute("DELETE FROM django_migrations WHERE name = '9999_of_tomorrow'")


def test_does_nothing_twice(migrated: Logins, capfd: pytest.CaptureFixture[str]) -> None:
    readiness.begin(migrated)
    readiness.bring_up(migrated)
    assert capfd.readouterr() == ("", "")


def test_two_commands_on_a_new_database_wait_for_each_other(data_dir: Path) -> None:
    code = "import json, sys; from novamem import readiness; from novamem.database import Logins\n"
    code += "readiness.begin(Logins(*json.loads(sys.argv[1])))"
    with running(data_dir) as logins:
        made = database.prepare_database(logins, "two")
        words = [sys.executable, "-c", code, json.dumps([made.app, made.owner])]
        both = [Popen(words, cwd=env.ROOT, stderr=PIPE, text=True) for _ in range(2)]
        told = [process.communicate(timeout=300)[1] for process in both]
        assert [process.returncode for process in both] == [0, 0], told
        assert sum("✓ migrations" in said for said in told) == 1
        readiness.check_current(made.app)


def test_leaves_a_database_that_is_not_new_to_the_server(migrated: Logins, capfd: pytest.CaptureFixture[str]) -> None:
    with psycopg.connect(migrated.owner) as connection:
        connection.execute("COMMENT ON TABLE django_migrations IS NULL")
    readiness.begin(migrated)
    assert capfd.readouterr() == ("", "")


def test_migrates_again_when_rows_or_files_changed(migrated: Logins, capfd: pytest.CaptureFixture[str]) -> None:
    with psycopg.connect(migrated.owner) as connection:
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('x', '9999_of_tomorrow', now())")
    readiness.bring_up(migrated)
    out, err = capfd.readouterr()
    assert out == ""  # what script/manage answers must stay readable for programs
    assert err.startswith("✓ migrations")


def test_tells_the_first_secrets_once(migrated: Logins, capfd: pytest.CaptureFixture[str]) -> None:
    readiness.first_run(migrated)
    assert "shown this once" in capfd.readouterr().out
    readiness.first_run(migrated)
    assert capfd.readouterr() == ("", "")


def test_says_that_another_version_was_here(migrated: Logins) -> None:
    readiness.check_known(migrated)
    with psycopg.connect(migrated.owner) as connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('memories', '9999_of_tomorrow', now())"
        )
    with pytest.raises(NotPrepared, match=r"had memories\.9999_of_tomorrow\. Start that release or a newer one"):
        readiness.check_known(migrated)


def test_says_that_a_migration_was_another_one(migrated: Logins) -> None:
    with psycopg.connect(migrated.owner) as connection:
        row = connection.execute("SELECT obj_description('django_migrations'::regclass)").fetchone()
        assert row
        state = json.loads(row[0])
        state["files"]["memories.0001_tables"] = "of yesterday"
        connection.execute(f"COMMENT ON TABLE django_migrations IS '{json.dumps(state)}'".encode())
    with pytest.raises(NotPrepared, match=r"had memories\.0001_tables\. .*script/manage export"):
        readiness.bring_up(migrated)


def test_says_what_failed(migrated: Logins, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PORT", "many")
    with psycopg.connect(migrated.owner) as connection:
        connection.execute("COMMENT ON TABLE django_migrations IS NULL")
    with pytest.raises(NotPrepared, match=r"manage.py migrate failed:[\s\S]*PORT must be of type int"):
        readiness.migrate(migrated)
    assert "✗ migrations" in capfd.readouterr().err
