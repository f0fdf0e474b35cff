"""The embedded Postgres: made once, shared, stopped by the last one, whole after a crash."""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from novamem import cluster
from novamem.cluster import PostgresCluster, Unavailable, cluster_of
from novamem.embedded import running

Python = Callable[..., Any]

HOLD = """
import sys
from pathlib import Path
from novamem.embedded import running
with running(Path(sys.argv[1])) as logins:
    print(logins.owner, flush=True)
    sys.stdin.read()
"""
pytestmark = pytest.mark.long
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="root keeps the cluster elsewhere")


def gone(is_there: Callable[[], object], seconds: float = 10) -> bool:
    """Whether it went away in time."""
    deadline = time.monotonic() + seconds
    while is_there() and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_there()


class Holder(AbstractContextManager["Holder"]):
    """Another process that uses the cluster."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.url = process.stdout.readline().strip()

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


@pytest.fixture
def hold(python: Python, data_dir: Path) -> Callable[[], Holder]:
    """Makes another process use the cluster."""
    return lambda: Holder(python("-c", HOLD, str(data_dir), settings={}))


def test_gives_the_owner_a_database_and_stops(data_dir: Path, server: PostgresCluster) -> None:
    with running(data_dir) as logins, psycopg.connect(logins.owner) as connection:
        rights = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        assert connection.execute(rights).fetchone() == ("nova_owner", False, True)
        extensions = connection.execute("SELECT extname FROM pg_extension").fetchall()
        assert {("vector",), ("btree_gist",)} <= set(extensions)
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        assert server.pid()
    assert server.pid() is None


def test_one_that_is_made_anew_after_a_loss_waits_for_no_disk(fresh: Path) -> None:
    with running(fresh, disposable=True) as logins, psycopg.connect(logins.owner) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("off",)


def test_keeps_what_was_committed(data_dir: Path) -> None:
    with running(data_dir) as logins, psycopg.connect(logins.owner) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
    with running(data_dir) as logins, psycopg.connect(logins.owner) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (1,)


def test_leaves_folders_closed_and_passwords_private(closed: Path, data_dir: Path) -> None:
    assert closed.stat().st_mode & 0o777 == 0o700
    assert (data_dir / "postgres.passwords").stat().st_mode & 0o777 == 0o600


def test_an_older_cluster_gets_a_login_for_the_app(data_dir: Path) -> None:
    path = data_dir / "postgres.passwords"
    with running(data_dir) as logins:
        passwords = json.loads(path.read_text())
        with psycopg.connect(logins.owner, user="postgres", password=passwords["postgres"]) as connection:
            connection.execute("ALTER ROLE nova_app NOLOGIN PASSWORD NULL")
    path.write_text(json.dumps({role: word for role, word in passwords.items() if role != "nova_app"}))
    with running(data_dir) as logins, psycopg.connect(logins.app) as connection:
        assert connection.execute("SELECT session_user").fetchone() == ("nova_app",)
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text()).keys() == passwords.keys()


def test_lets_nobody_in_without_the_password(data_dir: Path, server: PostgresCluster) -> None:
    with running(data_dir):
        for role in ("postgres", "nova_owner", "nova_app"):
            with pytest.raises(psycopg.OperationalError, match="password"):
                psycopg.connect(host=str(server.socket), user=role, dbname="novamem", password="guess")


def test_the_log_of_postgres_holds_no_values(data_dir: Path, server: PostgresCluster) -> None:
    with running(data_dir) as logins, psycopg.connect(logins.owner, autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE said (text text UNIQUE, CHECK (length(text) < 40))")
        for statement in (
            "INSERT INTO said VALUES ('penicillin'), ('penicillin')",
            f"INSERT INTO said VALUES ('penicillin{' ' * 40}')",
            "SELECT 'penicillin' FROM nowhere",
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(statement.encode())
    log = server.log.read_text()
    assert log.count("ERROR:") == 3
    assert "penicillin" not in log


def test_is_shared_and_stopped_by_the_last(data_dir: Path, server: PostgresCluster, hold: Callable[[], Holder]) -> None:
    with hold() as first:
        pid = server.pid()
        with running(data_dir) as logins:
            assert logins.owner == first.url
            first.process.communicate()  # the one that started it leaves first
            assert server.pid() == pid
    assert server.pid() is None


def test_stops_after_its_users_were_killed(data_dir: Path, server: PostgresCluster, hold: Callable[[], Holder]) -> None:
    with hold() as user:
        assert server.pid()
        user.process.kill()
    assert gone(server.pid)


def guards(lock: Path) -> list[psutil.Process]:
    return [each for each in psutil.process_iter(["cmdline"]) if str(lock) in (each.info["cmdline"] or [])]


def test_one_guard_is_left_however_often_the_server_was_killed(
    data_dir: Path, server: PostgresCluster, hold: Callable[[], Holder]
) -> None:
    lock = data_dir / "postgres.users.lock"
    with hold() as user:
        for _ in range(3):
            before = server.pid()
            assert before
            psutil.Process(before).kill()
            assert gone(server.pid)
            with running(data_dir):
                assert server.pid() not in (None, before)
        assert gone(lambda: len(guards(lock)) > 1)
        assert len(guards(lock)) == 1
        user.process.kill()
    assert gone(server.pid), "the guard of the first server stops the last one"
    assert gone(lambda: guards(lock))


def test_recovers_after_the_server_was_killed(data_dir: Path, server: PostgresCluster) -> None:
    with running(data_dir) as logins:
        with psycopg.connect(logins.owner) as connection:
            connection.execute("CREATE TABLE acknowledged AS SELECT 1 AS n")
        pid = server.pid()
        assert pid
        os.kill(pid, signal.SIGKILL)
        assert gone(server.pid)
        with running(data_dir) as again, psycopg.connect(again.owner) as connection:
            assert connection.execute("SELECT n FROM acknowledged").fetchone() == (1,)


def test_is_not_deceived_by_a_process_number_in_use_again(
    data_dir: Path, server: PostgresCluster, python: Python
) -> None:
    with running(data_dir):
        found = (server.data / "postmaster.pid").read_text().splitlines()
    stranger = python("-c", "import sys; sys.stdin.read()", settings={})
    (server.data / "postmaster.pid").write_text("\n".join([str(stranger.pid), *found[1:]]))
    assert server.pid() is None
    with running(data_dir) as logins, psycopg.connect(logins.app):
        assert server.pid()
    assert stranger.poll() is None
    stranger.communicate()


def test_says_that_the_passwords_are_missing(data_dir: Path) -> None:
    path = data_dir / "postgres.passwords"
    kept = path.rename(data_dir / "kept")
    try:
        with pytest.raises(Unavailable, match="Bring it back"), running(data_dir):
            pass
    finally:
        kept.rename(path)


def test_says_why_it_does_not_start(data_dir: Path, server: PostgresCluster) -> None:
    settings = server.data / "postgresql.auto.conf"
    before = settings.read_text()
    settings.write_text("shared_buffers = nonsense\n")
    try:
        with pytest.raises(Unavailable, match=r"did not start:[\s\S]*nonsense"), running(data_dir):
            pass
    finally:
        settings.write_text(before)


def emptied(data_dir: Path) -> Path:
    """The home of a cluster whose data directory was lost: a volume did not come up, a folder was cleaned."""
    data_dir.mkdir()
    home = cluster_of(data_dir).home
    (home / "data").mkdir()
    (home / "data" / "memories").touch()
    shutil.rmtree(data_dir)
    data_dir.mkdir()
    return home


@ROOT_ONLY
def test_roots_database_is_kept_when_its_data_directory_was_emptied(fresh: Path) -> None:
    home = emptied(fresh)
    for _ in range(2):
        with pytest.raises(Unavailable, match=rf"lies in {home}, but {fresh} lacks .* mv {home} {home}\.20"):
            cluster_of(fresh)
        assert (home / "data" / "memories").exists()
    home.rename(home.with_suffix(".old"))
    assert [path.name for path in cluster_of(fresh).home.iterdir()] == ["belongs-to"]
    assert (home.with_suffix(".old") / "data" / "memories").exists()


@ROOT_ONLY
def test_a_disposable_cluster_of_root_is_made_anew(fresh: Path) -> None:
    home = emptied(fresh)
    assert [path.name for path in cluster_of(fresh, disposable=True).home.iterdir()] == ["belongs-to"]
    assert cluster_of(fresh).home == home


@ROOT_ONLY
def test_what_a_start_that_was_cut_short_left_is_no_database(fresh: Path) -> None:
    fresh.mkdir()
    (cluster_of(fresh).home / "data.new").mkdir()
    shutil.rmtree(fresh)
    fresh.mkdir()
    assert [path.name for path in cluster_of(fresh).home.iterdir()] == ["belongs-to"]


@ROOT_ONLY
def test_root_keeps_no_cluster_of_a_temporary_data_directory_that_is_gone(fresh: Path, tmp_path: Path) -> None:
    gone_one, kept_one = tmp_path / "gone", tmp_path / "kept"
    homes = []
    for folder in (gone_one, kept_one):
        folder.mkdir()
        homes.append(cluster_of(folder).home)
    (homes[1] / "belongs-to").write_text("/mnt/not mounted now")
    for folder in (gone_one, kept_one):
        shutil.rmtree(folder)
    fresh.mkdir()
    cluster_of(fresh)
    assert [home.exists() for home in homes] == [False, True]
    shutil.rmtree(homes[1])


def test_two_starts_may_remove_the_same_old_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "OWN_PLACE", tmp_path / "own")
    homes = [tmp_path / "own" / name for name in ("a", "b")]
    for home in homes:
        home.mkdir(parents=True)
        (home / "belongs-to").write_text(str(tmp_path / "gone"))

    def both(path: Path, **how: Any) -> None:
        for home in homes:  # the other start is quicker
            rmtree(home, ignore_errors=True)
        rmtree(path, **how)

    rmtree = shutil.rmtree
    monkeypatch.setattr(cluster.shutil, "rmtree", both)
    cluster._sweep()
    assert list((tmp_path / "own").iterdir()) == []


@ROOT_ONLY
def test_root_is_told_that_its_folder_is_gone(tmp_path: Path) -> None:
    (tmp_path / "postgres").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Unavailable, match="remove the link to begin afresh"):
        cluster_of(tmp_path)


def test_a_socket_is_never_too_deep(tmp_path: Path) -> None:
    assert len(f"{PostgresCluster(tmp_path / ('x' * 90)).socket}/.s.PGSQL.5432") <= 107


def test_memory_bounds_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Small:
        total = 512 * cluster.MB

    monkeypatch.setattr(psutil, "virtual_memory", Small)
    assert cluster.tuning()["shared_buffers"] == "128MB"


COMMAND = ("-m", "novamem.embedded", sys.executable, "-c")


def test_runs_a_command_with_the_database(data_dir: Path, server: PostgresCluster, python: Python) -> None:
    show = "import os, sys; print(os.environ['DATABASE_URL'], os.environ['DATABASE_OWNER_URL']); sys.exit(7)"
    run = python(*COMMAND, show, settings={"NOVAMEM_DATA_DIR": str(data_dir)})
    output, _ = run.communicate()
    assert run.returncode == 7
    assert [url.partition(":")[2].split(":")[0] for url in output.split()] == ["//nova_app", "//nova_owner"]
    assert server.pid() is None


def test_runs_a_command_with_a_database_of_your_own(tmp_path: Path, python: Python) -> None:
    show = "import os; print(os.environ['DATABASE_URL'])"
    run = python(*COMMAND, show, settings={"NOVAMEM_DATA_DIR": str(tmp_path), "DATABASE_URL": "postgres://a@b/c"})
    assert run.communicate()[0] == "postgres://a@b/c\n"
    assert list(tmp_path.iterdir()) == []


def test_passes_signals_on_to_the_command(data_dir: Path, server: PostgresCluster, python: Python) -> None:
    wait = "import sys; print('there', flush=True); sys.stdin.read()"
    run = python(*COMMAND, wait, settings={"NOVAMEM_DATA_DIR": str(data_dir)})
    run.stdout.readline()
    run.send_signal(signal.SIGTERM)
    assert run.wait(60) == 128 + signal.SIGTERM
    run.communicate()
    assert server.pid() is None
