"""The server at the terminal: its port, and that all of it comes, stays and goes together."""

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from novamem import ports, server
from novamem.cluster import PostgresCluster
from novamem.ports import CanNotServe, choose_port
from tests.novamem.conftest import LOCAL, Python, Served, ended, memory_has, until, wait_for

pytestmark = pytest.mark.long


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server((LOCAL, 0)) as listener:
        yield listener.getsockname()[1]


def test_the_default_port_moves_on_and_says_so(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    port = choose_port(LOCAL, taken, chosen=False)
    assert port > taken
    assert f"port {taken} is taken; using {port}" in capsys.readouterr().err


def test_a_chosen_port_that_is_taken_is_an_error(taken: int) -> None:
    with pytest.raises(CanNotServe, match=f"Port {taken} is taken"):
        choose_port(LOCAL, taken, chosen=True)


def test_a_free_port_is_taken_as_it_is(taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    free = choose_port(LOCAL, taken, chosen=False)
    capsys.readouterr()
    assert choose_port(LOCAL, free, chosen=True) == free
    assert capsys.readouterr().err == ""


def test_port_0_is_any_free_one() -> None:
    assert choose_port(LOCAL, 0, chosen=True) > 0


@pytest.mark.parametrize(("host", "port", "why"), [("no.invalid", 8000, "no address"), (LOCAL, 70000, "no port")])
def test_an_address_that_is_none_is_an_error(host: str, port: int, why: str) -> None:
    with pytest.raises(CanNotServe, match=why):
        choose_port(host, port, chosen=True)


def test_says_when_every_port_is_taken(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "MOST", 1)
    with pytest.raises(CanNotServe, match="are all taken"):
        choose_port(LOCAL, taken, chosen=False)


@pytest.mark.parametrize(("host", "shown"), [("0.0.0.0", LOCAL), ("::", "[::1]"), ("::1", "[::1]"), ("box", "box")])
def test_shows_an_address_that_a_browser_here_can_open(host: str, shown: str) -> None:
    assert server._reachable(host) == shown


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of them end within some seconds."""
    return not psutil.wait_procs(processes, timeout=60)[1]


def test_serves_and_leaves_nothing_behind(serve: Callable[[], Served], server: PostgresCluster) -> None:
    with serve() as served:
        assert served.get("/healthz") == {"status": "ok"}
        assert served.get("/readyz")["parts"]["database"] == {"state": "ok"}
        children = served.children()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(120) == 0
    assert len(children) >= 5  # web, worker, scheduler, indexes, guard
    assert gone(children)
    assert server.pid() is None


def test_what_it_keeps_is_nobody_elses_to_read(serve: Callable[[], Served], data_dir: Path) -> None:
    data_dir.chmod(0o755)
    with serve() as served:
        served.get("/readyz")
        folders = [data_dir, data_dir / "logs", data_dir / "metrics"]
        files = [path for path in data_dir.rglob("*") if path.is_file() and not path.is_symlink()]
        assert {"web.log", "worker.log", "server.lock", "secret_key"} <= {path.name for path in files}
        assert any(path.parent.name == "metrics" for path in files)
        assert [path for path in folders if path.stat().st_mode & 0o777 != 0o700] == []
        assert [path for path in files if path.stat().st_mode & 0o077] == []


def test_only_what_builds_indexes_knows_the_owner(serve: Callable[[], Served], data_dir: Path) -> None:
    with serve() as served:
        passwords = json.loads((data_dir / "postgres.passwords").read_text())
        wait_for(lambda: served.children("-m novamem.owner_command"))
        names = ["-m novamem.units", "-m novamem.owner_command", "web process"]
        family = [psutil.Process(served.process.pid), *(child for name in names for child in served.children(name))]
        assert len(family) == 7  # the server, web and its two processes, worker, scheduler, indexes
        owners = [child for child in family if memory_has(child, passwords["nova_owner"])]
        assert owners == served.children("-m novamem.owner_command")
        assert all(memory_has(child, passwords["nova_app"]) for child in family)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_it_begins_anew_stops_it(python: Python, data_dir: Path, number: int) -> None:
    run = python("-m", "novamem.server", settings={"NOVAMEM_DATA_DIR": str(data_dir), "PORT": "0"}, stderr=-1)
    until(lambda: "--anew" in psutil.Process(run.pid).cmdline(), run)
    run.send_signal(number)
    code, _, said = ended(run)
    assert (code, said.splitlines()[-1]) == (0, "stopped")


# What a signal's handler raises in a callback is lost.
IN_A_CALLBACK = """
import signal
from novamem import preload, server

class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)

def load():
    Dying()
    print("went on", flush=True)

preload.load = load
raise SystemExit(server.main())
"""


def test_no_signal_is_lost_while_it_starts(python: Python, data_dir: Path) -> None:
    run = python("-c", IN_A_CALLBACK, settings={"NOVAMEM_DATA_DIR": str(data_dir), "PORT": "0"}, stderr=-1)
    code, out, said = ended(run)
    assert (code, out.splitlines()[-1], said.splitlines()[-1]) == (0, "went on", "stopped")


def test_starts_again_with_nothing_to_do(serve: Callable[[], Served]) -> None:
    with serve():
        pass
    with serve() as served:
        assert "migrations" not in served.said
        assert "first admin" not in served.said


def test_leaves_nothing_behind_when_it_is_killed(serve: Callable[[], Served], server: PostgresCluster) -> None:
    with serve() as served:
        children = served.children()
        served.process.kill()
        assert gone(children)
    assert server.pid() is None
    with serve() as again:
        assert again.get("/healthz") == {"status": "ok"}


def test_brings_back_what_ends(serve: Callable[[], Served]) -> None:
    with serve() as served:
        (web,) = served.children("-m novamem.units web")
        web.kill()
        assert "web ended (SIGKILL) and starts again in 1 s" in served.process.stderr.readline()
        deadline = time.monotonic() + 200
        while not server._answers(f"{served.url}/healthz") and time.monotonic() < deadline:
            time.sleep(0.1)
        assert served.get("/healthz") == {"status": "ok"}


def test_a_second_one_is_told_of_the_first(serve: Callable[[], Served], python: Python, data_dir: Path) -> None:
    with serve() as served:
        second = python("-m", "novamem.server", settings={"NOVAMEM_DATA_DIR": str(data_dir)}, stderr=-1)
        _, said = second.communicate(timeout=120)
        assert second.returncode == 1
        assert f"NovaMem runs already in {data_dir}: {served.url}, process {served.process.pid}" in said


NO_INTEGER = "Input should be a valid integer, unable to parse string as an integer."


def test_says_what_is_wrong_with_a_setting(python: Python, tmp_path: Path) -> None:
    run = python("-m", "novamem.server", settings={"NOVAMEM_DATA_DIR": str(tmp_path), "PORT": "many"}, stderr=-1)
    _, said = run.communicate(timeout=120)
    assert (run.returncode, said) == (1, f"✗ PORT must be of type int: {NO_INTEGER}\n")
