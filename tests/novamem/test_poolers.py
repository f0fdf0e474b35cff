"""All parts behind a real PgBouncer that hands out connections by transaction."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from novamem import database
from novamem.database import Logins
from tests.novamem.conftest import LOCAL, Manage, free_port, get, listens, manage_py, until, wait_for

pytestmark = [pytest.mark.long, pytest.mark.pgbouncer]

INI = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/userlist.txt
pool_mode = transaction
default_pool_size = 6
max_client_conn = 200
"""


@pytest.fixture(scope="module")
def pooled(current: Logins) -> Iterator[str]:
    """The app's URL through the pooler, which has fewer connections than the parts have together."""
    given, listen = conninfo_to_dict(current.app), free_port()
    folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    host = Path(str(given["host"]))
    (folder / "userlist.txt").write_text(f'"{given["user"]}" "{given["password"]}"\n')
    (folder / "pgbouncer.ini").write_text(
        INI.format(host=host, port=given.get("port", 5432), listen=listen, folder=folder)
    )
    options: dict[str, Any] = {}
    if os.geteuid() == 0:  # as whom it will not run; who owns the socket of Postgres may enter there
        options["user"] = host.stat().st_uid
        for path in (folder, *folder.iterdir()):
            os.chown(path, options["user"], -1)
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program
    with (folder / "log").open("w") as log:
        pooler: Any = subprocess.Popen([program, folder / "pgbouncer.ini"], stdout=log, stderr=log, **options)
        try:
            assert wait_for(lambda: listens(listen))
            yield f"postgres://{given['user']}:{given['password']}@{LOCAL}:{listen}/{given['dbname']}"
        finally:
            pooler.terminate()
            pooler.wait()
            shutil.rmtree(folder)


Asking = Callable[..., httpx2.Response]


@pytest.fixture
def ask(manage: Manage, pooled: str, current: Logins) -> Asking:
    """Asks the web server, as one of two projects; web server, worker and scheduler are behind the pooler."""
    issue = ("apikey", "create", "--verbs", "read,write,admin", "--json", "--project")
    told = {name: json.loads(manage_py(current, *issue, name).stdout) for name in ("acme", "elsewhere")}
    port = str(free_port())
    web = manage("web", "--port", port, "--processes", "2", DATABASE_URL=pooled)
    for unit in ("worker", "scheduler"):
        manage(unit, DATABASE_URL=pooled)
    until(lambda: get(f"http://{LOCAL}:{port}/healthz"), web)

    def send(project: str, method: str, path: str, body: Any = None) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {told[project]['key']}"}
        url = f"http://{LOCAL}:{port}/api/v1/{path}"
        return httpx2.request(method, url, json=body, headers=headers, trust_env=False, timeout=60)

    return send


def ended_operation(ask: Asking, which: str) -> dict[str, Any]:
    """The operation, once it is over."""

    def look() -> Any:
        found = ask("acme", "GET", f"operations/{which}").json()
        return found if found["state"] in ("succeeded", "failed", "cancelled") else None

    found: dict[str, Any] = wait_for(look)
    return found


def test_the_connections_have_their_limits_and_carry_no_options(pooled: str) -> None:
    with psycopg.connect(pooled, prepare_threshold=None) as connection:
        for name, wanted in database.LIMITS.items():
            assert connection.execute(f"SHOW {name}".encode()).fetchone() == (wanted,)


def test_each_project_sees_its_own_though_they_share_connections(ask: Asking, current: Logins) -> None:
    def work(number: int) -> set[str]:
        project = ("acme", "elsewhere")[number % 2]
        text = {"namespace": f"{project}:main", "content": f"{project} keeps memory number {number} of the pooler."}
        assert ask(project, "POST", "fragments", text).status_code == 201
        query = {"namespace": f"{project}:main", "query": "memory of the pooler", "top_k": 50}
        answer = ask(project, "POST", "search", query)
        assert answer.status_code == 200, answer.text
        return {row["content"].partition(" ")[0] for row in answer.json()["results"]}

    with ThreadPoolExecutor(12) as threads:
        seen = list(threads.map(work, range(48)))
    assert seen == [{"acme"}, {"elsewhere"}] * 24
    with psycopg.connect(current.owner, autocommit=True) as connection:
        waits = "SELECT 1 FROM memories_pendingembedding"
        wait_for(lambda: not connection.execute(waits).fetchone())


def test_the_worker_works_and_restores_nothing(ask: Asking) -> None:
    ask("acme", "POST", "fragments", {"namespace": "acme:main", "content": "acme has a heron in the reeds."})
    for _ in range(6):  # more often than what psycopg prepares by itself
        started = ask("acme", "POST", "consolidations", {"namespace": "acme:main"}).json()
        assert ended_operation(ask, started["id"])["state"] == "succeeded"
    made = ended_operation(ask, ask("acme", "POST", "backups", {}).json()["id"])
    assert made["state"] == "succeeded", made
    drilled = ask("acme", "POST", f"backups/{made['report']['backup_id']}/drill", {}).json()
    ended = ended_operation(ask, drilled["id"])
    assert (ended["state"], ended["error"]["code"]) == ("failed", "session_shared")
