"""The continuous archive of docs/backups.md, by Postgres' own programs: the database is lost, and comes back whole."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import psycopg
import pytest

from novamem import readiness
from novamem.cluster import PostgresCluster, cluster_of, owner, programs
from novamem.embedded import running
from tests.novamem.conftest import LOCAL, Manage, free_port, get, manage_py, until, wait_for

pytestmark = pytest.mark.long

ARCHIVER = "archiver"


def postgres(program: str, *words: str, server: PostgresCluster) -> "subprocess.Popen[bytes]":
    """One of Postgres' programs, as the archive's machine runs it."""
    place = {"PGHOST": str(server.socket), "PGUSER": ARCHIVER, "PGPASSWORD": ARCHIVER}
    return subprocess.Popen([str(programs() / program), *words], env={**os.environ, **place})


def superuser(server: PostgresCluster, data_dir: Path) -> psycopg.Connection[Any]:
    password = json.loads((data_dir / "postgres.passwords").read_text())["postgres"]
    return psycopg.connect(f"host={server.socket} user=postgres password={password} dbname=postgres", autocommit=True)


@pytest.fixture
def archived(fresh: Path, tmp_path: Path, manage: Manage) -> Iterator[SimpleNamespace]:
    """A Postgres with an archive that runs, and a web server beside it."""
    with running(fresh) as logins:
        server, wal, base = cluster_of(fresh), tmp_path / "wal", tmp_path / "base"
        readiness.bring_up(logins)
        with superuser(server, fresh) as connection:
            connection.execute(f"CREATE ROLE {ARCHIVER} LOGIN REPLICATION PASSWORD '{ARCHIVER}'")
        wal.mkdir()
        to_wal = ["--directory", str(wal), "--slot", ARCHIVER]
        assert postgres("pg_receivewal", *to_wal, "--create-slot", server=server).wait() == 0
        receiver = postgres("pg_receivewal", *to_wal, "--synchronous", server=server)
        issued = manage_py(logins, "apikey", "create", "--project", "acme", "--verbs", "read,write", "--json")
        port = free_port()
        web = manage("web", "--port", str(port), "--processes", "1", DATABASE_URL=logins.app)
        until(lambda: get(f"http://{LOCAL}:{port}/healthz"), web)
        head = {"Authorization": f"Bearer {json.loads(issued.stdout)['key']}"}
        with httpx2.Client(base_url=f"http://{LOCAL}:{port}/api/v1/", headers=head, timeout=60) as client:
            yield SimpleNamespace(
                server=server, data_dir=fresh, logins=logins, wal=wal, base=base, client=client, web=web
            )
        receiver.send_signal(signal.SIGINT)
        receiver.wait()


def told(archived: SimpleNamespace, text: str) -> str:
    answer = archived.client.post("fragments", json={"namespace": "acme:main", "content": text})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def audit(archived: SimpleNamespace, what: str) -> "subprocess.CompletedProcess[str]":
    return manage_py(archived.logins, "audit", what, "--project", "acme")


def lose(archived: SimpleNamespace) -> None:
    """The archive has what was written, and the disk of the database is gone."""
    server, arrived = (
        archived.server,
        "SELECT bool_and(flush_lsn >= pg_current_wal_flush_lsn()) FROM pg_stat_replication",
    )
    with superuser(server, archived.data_dir) as connection:
        wait_for(lambda: connection.execute(arrived).fetchone() == (True,))
    os.kill(server.pid() or 0, signal.SIGKILL)
    wait_for(lambda: server.pid() is None)
    shutil.rmtree(server.data)


def bring_back(archived: SimpleNamespace, *, until_time: str = "") -> None:
    """What the page says: the base backup, and whatever was written since."""
    server, kept = archived.server, archived.server.home / "archive"
    shutil.copytree(archived.base, server.data)
    shutil.copytree(archived.wal, kept)
    for unfinished in kept.glob("*.partial"):
        unfinished.rename(unfinished.with_suffix(""))
    with (server.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(f"restore_command = 'cp {kept}/%f %p'\n")
        if until_time:
            settings.write(f"recovery_target_time = '{until_time}'\nrecovery_target_action = 'promote'\n")
    (server.data / "recovery.signal").touch()
    for path in (server.data, kept, *server.data.rglob("*"), *kept.iterdir()):
        os.chown(path, *owner(server.home))
    server.data.chmod(0o700)
    server.start()
    with superuser(server, archived.data_dir) as connection:
        wait_for(lambda: connection.execute("SELECT NOT pg_is_in_recovery()").fetchone() == (True,))


def has(archived: SimpleNamespace, which: str) -> bool:
    def answered() -> Any:
        answer = archived.client.get(f"fragments/{which}")
        return answer if answer.status_code in (200, 404) else None

    return bool(until(answered, archived.web).status_code == 200)


def back_up(archived: SimpleNamespace) -> None:
    words = ["--pgdata", str(archived.base), "--checkpoint", "fast"]
    assert postgres("pg_basebackup", *words, server=archived.server).wait() == 0
    assert postgres("pg_verifybackup", str(archived.base), server=archived.server).wait() == 0


def test_what_was_acknowledged_comes_back_when_the_database_is_lost(archived):
    before = told(archived, "The heron nests by the mill.")
    back_up(archived)
    since = [told(archived, f"Heron {number} came to the weir.") for number in range(20)]
    assert audit(archived, "seal").stdout == "acme: 24 events sealed\n"
    lose(archived)
    bring_back(archived)
    assert all(has(archived, which) for which in (before, *since))
    assert "acme: whole (1 seals, 24 events, 0 not sealed yet)" in audit(archived, "verify").stdout
    assert has(archived, told(archived, "The heron is back."))


def test_the_database_goes_back_to_a_moment(archived):
    """A mistake is undone for the whole instance, and the audit goes on saying that seals are missing."""
    back_up(archived)
    kept = told(archived, "The heron nests by the mill.")
    assert audit(archived, "seal").stdout == "acme: 4 events sealed\n"
    with superuser(archived.server, archived.data_dir) as connection:
        ((moment,),) = connection.execute("SELECT now()::text").fetchall()
    mistaken = told(archived, "The heron nests in the chimney.")
    assert audit(archived, "seal").stdout == "acme: 1 events sealed\n"
    lose(archived)
    bring_back(archived, until_time=moment)
    assert (has(archived, kept), has(archived, mistaken)) == (True, False)
    assert "acme: cut_off: seal 2" in audit(archived, "verify").stdout
    assert has(archived, told(archived, "The heron is back."))
    assert audit(archived, "seal").stdout == "acme: 1 events sealed\n"
    assert "acme: removed: seal 2" in audit(archived, "verify").stdout
