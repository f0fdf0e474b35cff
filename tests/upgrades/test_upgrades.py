"""Databases of each release come up to this one with all that they hold, and go back; what was released stays.

Each folder beside this is of a release: `script/bench release_dump tests/upgrades/X.Y.Z` makes it when X.Y.Z is tagged.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from novamem import database, dumps, env, readiness
from script.benches._release_facts import facts_of
from tests.conftest import TEST_DATABASE

HERE = Path(__file__).parent
RELEASES = sorted(path.parent.name for path in HERE.glob("*/database.dump"))
FROZEN = json.loads((HERE / "migrations.json").read_text())


def manage(logins, data_dir, *words):
    """A command of this release on that database."""
    given = {**os.environ, **logins.environment(), "NOVAMEM_DATA_DIR": str(data_dir), "EMBEDDER": "fake"}
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, env=given, cwd=env.ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=RELEASES)
def release(request, tmp_path_factory):
    """The database of a release as it was dumped: its name, the logins, its data directory."""
    data_dir = tmp_path_factory.mktemp("data") / "var"
    shutil.copytree(HERE / request.param / "data", data_dir)
    (data_dir / "keys" / "instance.ed25519").chmod(0o600)
    server = env.load().own_database()
    made = database.prepare_database(server, f"{TEST_DATABASE}_upgrade")
    dumps.restore(made.owner, HERE / request.param / "database.dump")
    yield request.param, made, data_dir
    database.drop_database(server, f"{TEST_DATABASE}_upgrade")


def facts(logins):
    with psycopg.connect(logins.owner) as connection:
        return facts_of(connection)


def applied(logins):
    with psycopg.connect(logins.owner) as connection:
        return set(connection.execute("SELECT app, name FROM django_migrations").fetchall())


@pytest.mark.long
def test_all_that_it_held_is_there_after_the_upgrade_and_after_the_way_back(release):
    name, logins, data_dir = release
    wanted, before = json.loads((HERE / name / "facts.json").read_text()), applied(logins)
    assert facts(logins) == wanted
    readiness.bring_up(logins, dumped=False)
    readiness.check_current(logins.app)
    assert facts(logins) == wanted
    proven = manage(logins, data_dir, "audit", "verify", "--json")
    assert proven.returncode == 0, proven.stdout + proven.stderr
    (verdict,) = json.loads(proven.stdout).values()
    assert verdict["seals"] == wanted["seals"][0]
    counted = manage(logins, data_dir, "stats", "--json")
    assert sum(json.loads(counted.stdout)[0]["by_status"].values()) == wanted["memories"][0]
    for app in ("memories", "conflicts"):
        last = max(number for its_app, number in before if its_app == app)
        back = manage(logins, data_dir, "migrate", app, last, "--database", "owner", "--verbosity", "0")
        assert back.returncode == 0, back.stderr
    assert applied(logins) == before
    assert facts(logins) == wanted


def test_there_is_a_dump_of_this_release():
    assert env.VERSION in RELEASES


def digest_of(path):
    """Over a migration and the SQL that it reads."""
    files = [path, *sorted((path.parent / "sql" / path.stem).glob("*.sql"))]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


@pytest.mark.parametrize("name", FROZEN)
def test_a_migration_that_was_released_never_changes(name):
    app, _, stem = name.partition(".")
    assert digest_of(env.ROOT / app / "migrations" / f"{stem}.py") == FROZEN[name]


@pytest.mark.long
def test_all_that_a_release_applied_is_frozen(release):
    _, logins, _ = release
    assert {f"{app}.{name}" for app, name in applied(logins) if app in ("memories", "conflicts")} <= FROZEN.keys()
