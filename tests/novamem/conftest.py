"""A cluster of their own for the tests of what brings one; made once."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import uvicorn

from novamem import database, env, readiness
from novamem.cluster import PostgresCluster, cluster_of
from novamem.database import Logins
from novamem.embedded import running

Python = Callable[..., "subprocess.Popen[str]"]
LOCAL = "127.0.0.1"
NAME = "memory.example.com"  # in the proxies' configurations that ship
PATH = f"{os.environ['PATH']}:/usr/sbin:/usr/lib/rabbitmq/bin"  # where Debian keeps servers


def remove(data_dir: Path) -> None:
    """Root's folder of a cluster, which is not below pytest's."""
    if (data_dir / "postgres").is_symlink():
        home = (data_dir / "postgres").readlink()
        for path in (home, home.with_suffix(".old")):
            shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that nobody but its owner may enter."""
    folder = tmp_path_factory.mktemp("closed")
    folder.chmod(0o700)
    return folder


@pytest.fixture(scope="session")
def data_dir(closed: Path) -> Iterator[Path]:
    """A data directory whose cluster was made before, and stopped."""
    path = closed / "data"
    with running(path):
        pass
    yield path
    remove(path)


@pytest.fixture
def server(data_dir: Path) -> PostgresCluster:
    """Its cluster."""
    return cluster_of(data_dir)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Path]:
    """A data directory that is not there yet."""
    yield tmp_path / "fresh"
    remove(tmp_path / "fresh")


@pytest.fixture
def python() -> Python:
    """Starts another process with this code: `python(*words, settings={...})`; without a database unless given."""

    def start(*words: str, settings: dict[str, str], **options: Any) -> "subprocess.Popen[str]":
        path = os.pathsep.join(filter(None, [str(env.ROOT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "DATABASE_URL": "", "DATABASE_OWNER_URL": "", **settings}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([sys.executable, "-P", *words], env=environment, **pipes)

    return start


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Its exit code, and what it said on stdout and stderr."""
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def until(happened: Callable[[], Any], process: "subprocess.Popen[str]") -> Any:
    """The first true answer, while the process lives."""

    def look() -> Any:
        answer = happened()
        assert answer or process.poll() is None, ended(process)
        return answer

    return wait_for(look)


def wait_for(happened: Callable[[], Any]) -> Any:
    """The first true answer."""
    deadline = time.monotonic() + 120
    while not (answer := happened()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)
    return answer


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server((LOCAL, 0)) as probe:
        return int(probe.getsockname()[1])


def get(url: str) -> Any:
    """What it answers, as JSON; None while it does not."""
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        return json.load(error)
    except OSError:
        return None


class Served(AbstractContextManager["Served"]):
    """A running server: `said` is what it told the terminal before it was ready, `url` where it is."""

    def __init__(self, process: Any) -> None:
        self.process = process
        self.said = ""
        while "NovaMem: " not in self.said:
            line = process.stderr.readline()
            assert line, f"the server ended: {self.said}"
            self.said += line
        found = re.search(r"NovaMem: (http://\S+)/", self.said)
        assert found
        self.url = found[1]
        assert process.stderr.readline() == "\n"

    def children(self, name: str = "") -> list[psutil.Process]:
        """Its processes, Postgres' guard included; or those of one name."""
        found = psutil.Process(self.process.pid).children(recursive=True)
        alive = [child for child in found if child.status() != psutil.STATUS_ZOMBIE]
        return [child for child in alive if f" {name}" in " ".join(child.cmdline())]

    def get(self, path: str) -> Any:
        """What it answers, as JSON."""
        with urllib.request.urlopen(self.url + path, timeout=60) as response:
            return json.load(response)

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=120)


@pytest.fixture
def serve(python: Python, data_dir: Path) -> Callable[..., Served]:
    """Starts the server on the cluster of these tests."""

    def start(**more: str) -> Served:
        settings = {"NOVAMEM_DATA_DIR": str(data_dir), "EMBEDDER": "fake", "PORT": "0", "HOST": LOCAL, **more}
        return Served(python("-m", "novamem.server", settings=settings, stderr=-1, cwd=env.ROOT))

    return start


@pytest.fixture
def door() -> Iterator[Callable[[Any], tuple[str, int]]]:
    """Serves an application in this process, from a real socket: where."""
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def serving(application: Any) -> tuple[str, int]:
        listening = socket.create_server((LOCAL, 0))
        server = uvicorn.Server(uvicorn.Config(application, lifespan="off", ws="none", log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        running.append((server, thread))
        while not server.started:
            time.sleep(0.01)
        return listening.getsockname()

    yield serving
    for server, thread in running:
        server.should_exit = server.force_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def bare(data_dir: Path) -> Iterator[Logins]:
    """A database that nobody has migrated."""
    with running(data_dir) as logins:
        yield database.prepare_database(logins, "bare")


@pytest.fixture(scope="module")
def current(bare: Logins) -> Logins:
    """A database that was upgraded."""
    made = database.prepare_database(bare, "current")
    readiness.bring_up(made)
    return made


Manage = Callable[..., "subprocess.Popen[str]"]


def program(name: str, *words: str) -> list[str]:
    """The module that `script/manage NAME …` runs, with its arguments."""
    return ["novamem.upgrade", *words] if name == "upgrade" else ["novamem.units", name, *words]


@pytest.fixture
def manage(tmp_path: Path) -> Iterator[Manage]:
    """Starts what `script/manage …` is, in the foreground; what a test leaves running is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str, **settings: str) -> "subprocess.Popen[str]":
        given = {name: value for name, value in os.environ.items() if name not in env.Settings.model_fields}
        own = {"NOVAMEM_DATA_DIR": str(tmp_path), "EMBEDDER": "fake", "SECRET_KEY": "of the test", "HOST": LOCAL}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", *program(*words)],
            env={**given, **own, "PYTHONPATH": str(env.ROOT), **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def password_of(url: str) -> str:
    """Of a login's URL."""
    return urlsplit(url).password or ""


def memory_has(process: psutil.Process, word: str) -> bool:
    """Whether what a process may read of its own memory has a word in it."""
    about = Path("/proc") / str(process.pid)
    with (about / "maps").open() as maps, (about / "mem").open("rb", 0) as memory:
        for place in maps:
            addresses, rights = place.split()[:2]
            if not rights.startswith("r") or "[v" in place:  # the kernel's own
                continue
            start, end = (int(address, 16) for address in addresses.split("-"))
            memory.seek(start)
            if word.encode() in memory.read(end - start):
                return True
    return False


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as probe:
        return probe.connect_ex((LOCAL, port)) == 0


def certificate(folder: Path) -> tuple[Path, Path]:
    """One for the name in the proxies' configurations, signed by itself, and its key."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}"]
    subprocess.run([*words, "-keyout", key, "-out", made], check=True, capture_output=True)
    return made, key


def shipped(name: str, *changes: tuple[str, str]) -> str:
    """The configuration of a proxy with what a test has to change; each of that stands there once."""
    text = (env.ROOT / "script" / "deploy" / name).read_text()
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    return text


@contextmanager
def proxying(command: list[Any], plain: int, secure: int, **more: Any) -> Iterator[SimpleNamespace]:
    """A proxy that runs, and where it answers."""
    running: Any = subprocess.Popen(command, **more)
    try:
        until(lambda: listens(secure), running)
        yield SimpleNamespace(plain=f"http://{LOCAL}:{plain}", secure=f"https://{LOCAL}:{secure}")
    finally:
        running.terminate()
        running.wait()


@contextmanager
def nginx(folder: Path, ports: list[int], path: str = "/") -> Iterator[SimpleNamespace]:
    """The configuration that ships, with ports, web servers, a certificate and the path of the test; nothing else is
    changed.
    """
    plain, secure = free_port(), free_port()
    public, key = certificate(folder)
    text = shipped(
        "nginx.conf",
        ("    server 127.0.0.1:8000;", "".join(f"    server {LOCAL}:{port};\n" for port in ports)),
        ("listen 80;", f"listen {LOCAL}:{plain};"),
        ("    listen [::]:80;\n", ""),
        ("listen 443 ssl;", f"listen {LOCAL}:{secure} ssl;"),
        ("    listen [::]:443 ssl;\n", ""),
        (f"/etc/letsencrypt/live/{NAME}/fullchain.pem", str(public)),
        (f"/etc/letsencrypt/live/{NAME}/privkey.pem", str(key)),
        ("    location / {", f"    location {path} {{"),
    )
    folders = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = folder / "nginx.conf"
    whole.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; {folders}\n{text}\n}}\n"
    )
    command = [shutil.which("nginx", path=PATH), "-c", whole, "-e", folder / "error.log"]
    with proxying(command, plain, secure) as running:
        yield running


@contextmanager
def caddy(folder: Path, ports: list[int], path: str = "/") -> Iterator[SimpleNamespace]:
    """The configuration that ships, with ports, web servers and a certificate of the test; below a path by the lines
    that it has for that, as comments. Nothing else is changed.
    """
    plain, secure = free_port(), free_port()
    public, key = certificate(folder)
    text = shipped("Caddyfile", (f"\n{NAME} {{\n", f"\n{NAME} {{\n\tbind {LOCAL}\n\ttls {public} {key}\n"))
    if path != "/":
        own, below = text[: text.index("\treverse_proxy")], text[text.index("\n#\n") :]
        text = own + "".join(f"{line[1:]}\n" for line in below.splitlines() if line.startswith("#\t")) + "}\n"
        # Caddy lists servers one after the other.
    text = text.replace("127.0.0.1:8000", " ".join(f"{LOCAL}:{port}" for port in ports))
    whole = folder / "Caddyfile"
    whole.write_text(f"{{\n\tadmin off\n\thttp_port {plain}\n\thttps_port {secure}\n\tdefault_sni {NAME}\n}}\n{text}")
    command = [shutil.which("caddy", path=PATH), "run", "--config", whole]
    own_folders = {name: str(folder / name) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    with proxying(command, plain, secure, env={**os.environ, **own_folders}) as running:
        yield running


PROXIES = [pytest.param(nginx, marks=pytest.mark.nginx), pytest.param(caddy, marks=pytest.mark.caddy)]


def manage_py(logins: Logins, *words: str) -> "subprocess.CompletedProcess[str]":
    """Any command as `script/manage` runs it."""
    command = [sys.executable, "-P", "-m", "novamem.embedded", "--migrate", "new", sys.executable, "manage.py", *words]
    given = {"DATABASE_URL": logins.app, "DATABASE_OWNER_URL": logins.owner, "PYTHONPATH": str(env.ROOT)}
    return subprocess.run(
        command, env={**os.environ, **given}, cwd=env.ROOT, capture_output=True, text=True, timeout=300, check=False
    )
