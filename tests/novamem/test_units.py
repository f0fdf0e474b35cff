"""Web server, worker and scheduler as programs of their own, and the upgrade that they need."""

import datetime
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
import structlog
from kombu import Connection

from novamem import broker, database, dumps, env
from novamem.celery import app as celery
from novamem.database import Logins
from tests.novamem.conftest import (
    LOCAL,
    Manage,
    ended,
    free_port,
    get,
    listens,
    manage_py,
    memory_has,
    password_of,
    until,
)

pytestmark = pytest.mark.long  # each starts processes

TOMORROW = "memories.9999_of_tomorrow"


@pytest.fixture
def tomorrow(current: Logins) -> Iterator[Logins]:
    """The same after a newer release was there."""
    app, name = TOMORROW.split(".")
    with psycopg.connect(current.owner) as connection:
        connection.execute("INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())", [app, name])
    yield current
    with psycopg.connect(current.owner) as connection:
        connection.execute("DELETE FROM django_migrations WHERE name = %s", [name])


def holders(logins: Logins) -> int:
    """How many schedulers are at work."""
    with psycopg.connect(logins.owner) as connection:
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND granted"
        row = connection.execute(held, [database.SCHEDULER_LOCK]).fetchone()
    assert row
    return int(row[0])


@pytest.mark.parametrize("processes", ["1", "2"])
def test_web_serves_until_sigterm(processes: str, manage: Manage, current: Logins) -> None:
    port = free_port()
    web = manage("web", "--port", str(port), "--processes", processes, DATABASE_URL=current.app)
    assert until(lambda: get(f"http://{LOCAL}:{port}/healthz"), web) == {"status": "ok"}
    parts = get(f"http://{LOCAL}:{port}/readyz")["parts"]
    assert (parts["database"], parts["migrations"]) == ({"state": "ok"}, {"state": "ok"})
    with urllib.request.urlopen(f"http://{LOCAL}:{port}/metrics") as answer:
        told = answer.read().decode()
    for metric in ("novamem_operations{", "novamem_table_bytes{", "novamem_pool_connections ", "django_http_requests"):
        assert f"\n{metric}" in told
    family = psutil.Process(web.pid).children(recursive=True)
    web.send_signal(signal.SIGTERM)
    assert ended(web)[0] == 0
    assert not psutil.wait_procs(family, timeout=30)[1]


def test_web_processes_share_out_connections_that_come_at_once(manage: Manage, current: Logins) -> None:
    port = free_port()
    web = manage("web", "--port", str(port), "--processes", "2", DATABASE_URL=current.app)
    assert until(lambda: get(f"http://{LOCAL}:{port}/healthz"), web) == {"status": "ok"}
    until(lambda: len(serving(web)) == 2, web)
    time.sleep(2)  # both listen
    with ExitStack() as lasting:
        for connection in [lasting.enter_context(socket.create_connection((LOCAL, port))) for _ in range(16)]:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(1024).startswith(b"HTTP/1.1 200")
        served = [len(process.net_connections("tcp4")) - 1 for process in serving(web)]  # and one that listens
        assert sum(served) == 16
        assert min(served) >= 4


def test_a_web_process_that_dies_while_it_is_asked_for_is_replaced_at_once(manage: Manage, current: Logins) -> None:
    port = free_port()
    web = manage("web", "--port", str(port), "--processes", "2", DATABASE_URL=current.app)
    assert until(lambda: get(f"http://{LOCAL}:{port}/healthz"), web) == {"status": "ok"}
    first = serving(web)
    assert len(first) == 2
    time.sleep(2)  # both answer their parent
    first[0].suspend()
    time.sleep(2)  # its parent waits for its answer
    first[0].kill()
    killed = time.monotonic()
    until(lambda: len({*serving(web)} - {*first}) == 1, web)
    assert time.monotonic() - killed < 20  # and not a minute


def serving(web: "subprocess.Popen[str]") -> list[psutil.Process]:
    """The processes of a web server that answer."""
    return [one for one in psutil.Process(web.pid).children() if one.status() != psutil.STATUS_ZOMBIE]


def test_worker_and_scheduler_together_make_the_heart_beat(manage: Manage, current: Logins) -> None:
    start = datetime.datetime.now(datetime.UTC)  # of this test: another one's beat may stand there
    worker = manage("worker", "--threads", "2", DATABASE_URL=current.app)
    scheduler = manage("scheduler", DATABASE_URL=current.app)

    def beats() -> Any:
        with psycopg.connect(current.owner) as connection:
            return connection.execute("SELECT 1 FROM memories_heartbeat WHERE at > %s", [start]).fetchone()

    until(beats, worker)
    until(lambda: holders(current), scheduler)
    for process in (worker, scheduler):
        process.send_signal(signal.SIGTERM)
    assert [ended(process)[0] for process in (worker, scheduler)] == [0, 0]
    assert holders(current) == 0


def test_all_log_json_and_a_task_has_the_id_of_the_request(manage: Manage, current: Logins) -> None:
    settings = {"DATABASE_URL": current.app, "LOG_FORMAT": "json", "LOG_LEVEL": "DEBUG"}
    port = free_port()
    programs = [manage(*words, **settings) for words in (["web", "--port", str(port)], ["worker"], ["scheduler"])]
    until(lambda: get(f"http://{LOCAL}:{port}/healthz"), programs[0])
    queue = Connection(transport=broker.TRANSPORT, transport_options=broker.transport_options(current.app))
    with structlog.contextvars.bound_contextvars(request_id="0f0f0f0f", ip="10.0.0.1"), queue:
        celery.send_task("memories.tasks.heartbeat", connection=queue)

    def is_done() -> Any:
        with psycopg.connect(current.owner) as connection:
            return connection.execute("SELECT 1 FROM memories_heartbeat").fetchone()

    until(is_done, programs[1])
    time.sleep(3)  # the message's turn
    for process in programs:
        process.send_signal(signal.SIGTERM)
    told = [process.communicate(timeout=60) for process in programs]
    assert "".join(output for output, _ in told).strip() in ("", "worker: Warm shutdown (MainProcess)")
    plain = [line for _, lines in told for line in lines.splitlines() if not line.startswith("{")]
    assert plain == []
    web, worker, scheduler = ([json.loads(line) for line in lines.splitlines()] for _, lines in told)
    assert [line for line in web if line["event"] == "request_finished"]
    ours = [line for line in worker if line.get("request_id") == "0f0f0f0f"]
    assert {line["event"] for line in ours} >= {"task_started", "task_succeeded"}
    assert "10.0.0.1" not in told[1][1]
    assert scheduler


# What is raised in a callback is only told on stderr; so a signal that came there ended nothing.
LOST = """
import os, signal, time
from novamem import units
units._take_signals()
class Last:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(1000): pass
Last()
time.sleep(60)
"""


def test_a_signal_in_the_middle_of_a_callback_is_not_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST], cwd=env.ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0
    assert "Exception ignored" in done.stderr


def test_a_second_scheduler_takes_over_when_the_first_is_killed(manage: Manage, current: Logins) -> None:
    first = manage("scheduler", DATABASE_URL=current.app)
    until(lambda: holders(current), first)
    second = manage("scheduler", DATABASE_URL=current.app)
    assert second.stderr
    assert second.stderr.readline().startswith("another scheduler is at work")
    assert holders(current) == 1
    first.kill()
    first.communicate()
    until(lambda: holders(current) == 1, second)
    second.send_signal(signal.SIGTERM)
    assert ended(second)[0] == 0


def test_a_waiting_scheduler_ends_by_sigterm(manage: Manage, current: Logins) -> None:
    first = manage("scheduler", DATABASE_URL=current.app)
    until(lambda: holders(current), first)
    second = manage("scheduler", DATABASE_URL=current.app)
    assert second.stderr
    second.stderr.readline()
    second.send_signal(signal.SIGTERM)
    assert ended(second)[0] == 0


def test_a_scheduler_that_loses_its_turn_ends(manage: Manage, current: Logins) -> None:
    scheduler = manage("scheduler", DATABASE_URL=current.app)
    until(lambda: holders(current), scheduler)
    with psycopg.connect(current.owner) as connection:
        held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = %s"
        (pid,) = connection.execute(held, [database.SCHEDULER_LOCK]).fetchone() or (0,)
    with psycopg.connect(current.app, autocommit=True) as connection:  # its own role may end it
        connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    code, _, err = ended(scheduler)
    assert code == 1
    assert "✗ The scheduler lost its connection to the database" in err


@pytest.mark.parametrize("unit", ["web", "worker", "scheduler"])
def test_a_unit_knows_nothing_of_the_owner(unit: str, manage: Manage, current: Logins) -> None:
    """Also where it is told: what it starts and what it could read is without."""
    port = str(free_port())
    words = [unit, "--port", port, "--processes", "2"] if unit == "web" else [unit]
    process = manage(*words, DATABASE_URL=current.app, DATABASE_OWNER_URL=current.owner)
    if unit == "web":
        until(lambda: get(f"http://{LOCAL}:{port}/healthz"), process)
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        assert len(family) == 3
        assert [one for one in family if memory_has(one, password_of(current.owner))] == []
        assert all(memory_has(one, password_of(current.app)) for one in family)
    with psycopg.connect(current.owner, autocommit=True) as connection:
        users = "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = 'current' AND pid <> pg_backend_pid()"
        until(lambda: connection.execute(users).fetchall() == [("nova_app",)], process)


def line(told: tuple[int, str, str]) -> str:
    """The one line that a unit that can't start says."""
    code, out, err = told
    assert (code, out) == (1, "")
    assert re.fullmatch(r"✗ [^\n]+\n", err), err
    return err


UNITS = pytest.mark.parametrize("unit", ["web", "worker", "scheduler"])


@UNITS
def test_a_database_that_was_not_upgraded_names_the_command(unit: str, manage: Manage, bare: Logins) -> None:
    said = line(ended(manage(unit, DATABASE_URL=bare.app)))
    assert re.search(r"lacks \d+ migrations of this release .*run `script/manage upgrade`", said)


@UNITS
def test_a_database_of_a_newer_release_is_refused(unit: str, manage: Manage, tomorrow: Logins) -> None:
    said = line(ended(manage(unit, DATABASE_URL=tomorrow.app)))
    assert f"another release, which had {TOMORROW}: start that release or a newer one" in said


@UNITS
def test_the_owner_may_not_serve(unit: str, manage: Manage, current: Logins) -> None:
    assert "DATABASE_URL logs in as nova_owner" in line(ended(manage(unit, DATABASE_URL=current.owner)))


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "DATABASE_URL is not set"),
        ("nonsense", "DATABASE_URL must be a URL such as postgres://"),
        ("mysql://nova_app@localhost/name", "DATABASE_URL must be a URL such as postgres://"),
        (f"postgres://nova_app:x@{LOCAL}:9/name", "DATABASE_URL does not lead to a database"),
    ],
)
def test_a_wrong_database_url_is_told(url: str, why: str, manage: Manage) -> None:
    assert why in line(ended(manage("web", DATABASE_URL=url)))


def test_a_taken_port_is_told(manage: Manage, current: Logins) -> None:
    with socket.create_server((LOCAL, 0)) as listener:
        port = listener.getsockname()[1]
        said = line(ended(manage("web", "--port", str(port), DATABASE_URL=current.app)))
    assert f"Port {port} is taken on {LOCAL}. Stop what listens there, or set PORT to another one." in said


@pytest.mark.parametrize("unit", ["worker", "scheduler"])
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_is_away_is_told_without_its_password(
    unit: str, scheme: str, manage: Manage, current: Logins
) -> None:
    url = f"{scheme}://me:hush@{LOCAL}:9/0"
    said = line(ended(manage(unit, DATABASE_URL=current.app, CELERY_BROKER_URL=url)))
    assert f"The broker {scheme}://me:**@{LOCAL}:9" in said
    assert "set CELERY_BROKER_URL to another one" in said
    assert "hush" not in said


def test_script_manage_leads_to_them() -> None:
    for name in ("web", "worker", "scheduler", "upgrade"):
        words = ["sh", str(env.ROOT / "script" / "manage"), name, "--help"]
        told = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout
        assert told.startswith(f"usage: script/manage {name}")


def test_upgrade_brings_a_database_up_and_then_does_nothing(manage: Manage, bare: Logins) -> None:
    database.prepare_database(bare, "upgraded")
    made = bare.to("upgraded")
    both = {"DATABASE_URL": made.app, "DATABASE_OWNER_URL": made.owner}
    code, out, _ = ended(manage("upgrade", "--check", **both))
    assert code == 1
    assert "\n    memories.0001_" in out
    code, out, _ = ended(manage("upgrade", "--check", "--json", DATABASE_URL=made.app))  # also without the owner
    assert code == 1
    assert {"auth.0001_initial", "memories.0001_tables"} <= set(json.loads(out)["pending"])
    code, out, _ = ended(manage("upgrade", **both))
    assert (code, "migrations were applied" in out) == (0, True)
    for words in (("upgrade",), ("upgrade", "--check")):
        code, out, err = ended(manage(*words, **both))
        assert (code, err) == (0, "")
        assert out == f"The database is that of release {env.VERSION}: nothing to do.\n"
    with psycopg.connect(made.owner) as connection:  # secrets are made by `firstrun`, not printed into a log of deploys
        assert connection.execute("SELECT count(*) FROM auth_user").fetchone() == (0,)


@pytest.mark.parametrize("words", [("stats",), ("export", "x", "--project", "p"), ("audit", "verify")])
def test_no_command_works_on_a_newer_database(words: tuple[str, ...], tomorrow: Logins) -> None:
    done = manage_py(tomorrow, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"The database is of another release, which had {TOMORROW}" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_commands_that_ask_for_no_rows_do(tomorrow: Logins) -> None:
    assert manage_py(tomorrow, "config", "show", "--json").returncode == 0
    assert manage_py(tomorrow, "stats", "--help").returncode == 0


def applied(logins: Logins) -> set[str]:
    with psycopg.connect(logins.owner) as connection:
        return {name for (name,) in connection.execute("SELECT app || '.' || name FROM django_migrations")}


def test_an_upgrade_dumps_what_was_there(manage: Manage, current: Logins, tmp_path: Path) -> None:
    with psycopg.connect(current.owner, autocommit=True) as connection:
        connection.execute("CREATE TABLE of_before AS SELECT 7 AS seven")
    made = database.prepare_database(current, "dumped", template="current")
    back = [sys.executable, "manage.py", "migrate", "memories", "0027", "--database", "owner"]
    given = {**os.environ, "DATABASE_URL": made.app, "DATABASE_OWNER_URL": made.owner}
    subprocess.run(back, env=given, cwd=env.ROOT, check=True, capture_output=True)
    later = sorted(applied(current) - applied(made))
    assert "memories.0028_readings_and_a_horizon" in later
    both = {"DATABASE_URL": made.app, "DATABASE_OWNER_URL": made.owner}
    code, _, err = ended(manage("upgrade", **both, PATH=""))
    (path,) = (tmp_path / "dumps").iterdir()
    assert code == 0
    assert f"the database as it was: {path}" in err
    assert path.stat().st_mode & 0o077 == 0
    empty = database.prepare_database(current, "restored")
    dumps.restore(empty.owner, path)
    with psycopg.connect(empty.owner) as connection:
        assert connection.execute("SELECT seven FROM of_before").fetchone() == (7,)
    told = json.loads(ended(manage("upgrade", "--check", "--json", DATABASE_URL=empty.app))[1])
    assert sorted(told["pending"]) == later
    code, _, _ = ended(manage("upgrade", "--no-dump", DATABASE_URL=empty.app, DATABASE_OWNER_URL=empty.owner))
    assert code == 0
    assert len(list((tmp_path / "dumps").iterdir())) == 1


def test_without_a_dump_the_tables_stay_as_they_are(manage: Manage, current: Logins, tmp_path: Path) -> None:
    made = database.prepare_database(current, "undumped", template="current")
    given = {**os.environ, "DATABASE_URL": made.app, "DATABASE_OWNER_URL": made.owner}
    back = [sys.executable, "manage.py", "migrate", "memories", "0027", "--database", "owner"]
    subprocess.run(back, env=given, cwd=env.ROOT, check=True, capture_output=True)
    (tmp_path / "dumps").write_text("no folder")
    code, _, err = ended(manage("upgrade", DATABASE_URL=made.app, DATABASE_OWNER_URL=made.owner))
    assert code == 1
    assert "could not be dumped before its tables change" in err
    assert "script/manage upgrade --no-dump" in err
    code, out, _ = ended(manage("upgrade", "--check", DATABASE_URL=made.app))
    assert code == 1
    assert "0028" in out


def test_upgrade_refuses_a_newer_database(manage: Manage, tomorrow: Logins) -> None:
    both = {"DATABASE_URL": tomorrow.app, "DATABASE_OWNER_URL": tomorrow.owner}
    for words in (("upgrade", "--check", "--json"), ("upgrade", "--json")):
        code, out, _ = ended(manage(*words, **both))
        assert code == 2
        assert json.loads(out) == {"release": env.VERSION, "pending": [], "unknown": [TOMORROW]}


def test_upgrade_needs_the_owner(manage: Manage, current: Logins) -> None:
    code, out, err = ended(manage("upgrade", DATABASE_URL=current.app))
    assert (code, out) == (1, "")
    assert err.startswith("✗ Only the owner of the tables may upgrade.")
    assert "DATABASE_OWNER_URL=…" in err


@pytest.mark.parametrize("words", [(), ("--nonsense",)])
def test_a_check_that_can_not_tell_ends_by_3(words: tuple[str, ...], manage: Manage) -> None:
    code, out, err = ended(manage("upgrade", "--check", *words, DATABASE_URL=f"postgres://nova_app:x@{LOCAL}:9/n"))
    assert (code, out) == (3, "")
    assert err


REDIS = shutil.which("redis-server")


@pytest.mark.redis
def test_units_share_redis(manage: Manage, current: Logins, tmp_path: Path) -> None:
    assert REDIS
    port = free_port()
    words = [REDIS, "--port", str(port), "--bind", LOCAL, "--save", "", "--dir", str(tmp_path)]
    redis = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        settings = {"DATABASE_URL": current.app, "CELERY_BROKER_URL": f"redis://{LOCAL}:{port}/0"}
        until(lambda: listens(port), redis)
        with psycopg.connect(current.owner, autocommit=True) as connection:
            connection.execute("DELETE FROM memories_heartbeat")
            worker = manage("worker", **settings)
            until(lambda: connection.execute("SELECT 1 FROM memories_heartbeat").fetchone(), worker)
            connection.execute("DELETE FROM memories_heartbeat")
            manage("scheduler", **settings)
            until(lambda: connection.execute("SELECT 1 FROM memories_heartbeat").fetchone(), worker)
    finally:
        redis.terminate()
        redis.wait()


ENDS_SLOWLY = """
import os, signal, time
from novamem import units
units.LOST = 0.2
units._take_signals()
class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(1)
slow = Slow()  # is let go when the interpreter has taken its handlers away
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_an_end_that_takes_long_is_no_death_by_alarm() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS_SLOWLY], cwd=env.ROOT, check=False, timeout=60)
    assert ended.returncode == 0
