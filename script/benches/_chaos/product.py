"""The product as `script/server` runs it, in a data directory of its own: started, found by process, stopped."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psutil

from novamem import env
from novamem.cluster import PostgresCluster, cluster_of
from novamem.database import APP, OWNER
from novamem.embedded import running
from novamem.lifetime import tie_to

PATIENCE = 180.0  # seconds for the product to come up
PROJECT = "chaos"
PLANT = Path(__file__).with_name("plant")
SERVER = ["-m", "novamem.server"]
HASTY = ["-c", "from novamem import processes, server; processes.BACKOFF = (1,); raise SystemExit(server.main())"]
SPARE = 40  # projects that are made at once, for making one takes seconds
# Who writes, who says otherwise, and who decides: nobody settles what their own owner wrote.
KEYS = {
    "writer": ["--verbs", "read,write,admin"],
    "rival": ["--verbs", "read,write"],
    "reviewer": ["--verbs", "read,write,review,admin", "--ceiling", "user_explicit"],
}
UNITS = {"web": "novamem.units web", "worker": "novamem.units worker", "scheduler": "novamem.units scheduler"}


class NotUp(Exception):
    """The product did not come up; the message is the end of what it said."""


class Product:
    """One installation, whose settings stay the same from start to start."""

    def __init__(self, data_dir: Path, settings: Mapping[str, str], *, hasty: bool = False) -> None:
        """What is `hasty` waits for a second only before it starts again what keeps ending."""
        self.data_dir, self._program = data_dir, HASTY if hasty else SERVER
        self.said = data_dir.with_suffix(".log")
        self.plants = data_dir.with_suffix(".plants")
        self.keys: dict[str, str] = _kept_keys(data_dir)
        self._process: subprocess.Popen[bytes] | None = None
        self._spare: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._logins: dict[str, str] = {}
        self._environment = {
            **os.environ,
            APP: "",
            OWNER: "",
            "NOVAMEM_DATA_DIR": str(data_dir),
            "EMBEDDER": "fake",
            "HOST": "127.0.0.1",
            "WEB_PROCESSES": "2",
            "OPERATION_LEASE_SECONDS": "5",
            "LOG_LEVEL": "WARNING",
            "CHAOS_PLANTS": str(self.plants),
            "PYTHONPATH": os.pathsep.join([str(PLANT), str(env.ROOT)]),
            **settings,
        }

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._environment['PORT']}"

    @property
    def environment(self) -> Mapping[str, str]:
        """The settings of a further unit of it."""
        return {**self._environment, APP: self._logins[APP]}

    @property
    def backups(self) -> Path:
        """Where its backups lie."""
        return Path(self._environment.get("BACKUP_DIR") or self.data_dir / "backups")

    def spare_project(self) -> tuple[str, str]:
        """Return the name of a project that nobody else uses, and its key."""
        with self._lock:
            if not self._spare:
                out, err = self._beside(str(PLANT / "projects.py"), str(SPARE)).communicate()
                if not out:
                    raise NotUp(err)
                self._spare = [tuple(line.split()) for line in out.splitlines()]
            return self._spare.pop()

    def unhandled_errors(self) -> str:
        """Return the end of what its web processes logged of errors that they did not expect."""
        log = self.log_of("web")
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(line[-3000:] for line in lines if "unhandled_error" in line or "Traceback" in line)[-6000:]

    def log_of(self, name: str) -> Path:
        """Return where a further unit may log."""
        return self.data_dir / "logs" / f"{name}.log"

    @property
    def logins(self) -> Mapping[str, str]:
        """The settings of who may do everything, as what builds indexes has them."""
        return self._logins

    def start(self) -> None:
        """Start it and wait until every part works. Raise NotUp."""
        self.launch()
        self.wait_until(self._is_whole)
        if not self._logins:
            with running(self.data_dir) as logins:
                self._logins = logins.environment()
        if not self.keys:
            self.keys = self._make_keys()

    def launch(self) -> None:
        """Start it without waiting for anything."""
        with self.said.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, *self._program],
                cwd=env.ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=partial(tie_to, os.getpid()),  # it never outlives the bench
            )

    def wait_until(self, happened: Callable[[], Any], *, seconds: float = PATIENCE) -> None:
        """Wait until something is true of it. Raise NotUp when it ends, or takes longer."""
        deadline = time.monotonic() + seconds
        while not happened():
            if not self.runs or time.monotonic() > deadline:
                raise NotUp(self.said.read_text(errors="replace")[-2000:])
            time.sleep(0.1)

    @property
    def runs(self) -> bool:
        """Whether its supervisor is there."""
        return self._process is not None and self._process.poll() is None

    def bring_back(self) -> None:
        """Start it again where nothing else does, and wait until every part works."""
        if not self.runs:
            self.start()
        self.wait_until(self._is_whole)

    def _is_whole(self) -> bool:
        with suppress(httpx2.HTTPError, ValueError):
            parts = httpx2.get(f"{self.url}/readyz", timeout=10, trust_env=False).json()["parts"]
            return all(parts.get(name, {}).get("state") == "ok" for name in ("database", "broker", "worker"))
        return False

    def stop(self) -> None:
        """End it in an orderly way."""
        if self._process and self.runs:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(90)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def manage(self, *words: str) -> "subprocess.Popen[str]":
        """Run a management command beside it."""
        return self._beside("manage.py", *words)

    def _beside(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=env.ROOT,
            env={**self._environment, **self._logins},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _make_keys(self) -> dict[str, str]:
        common = ["apikey", "create", "--project", PROJECT, "--rate", "0", "--json"]
        made = {}
        for name, words in KEYS.items():  # the first one makes the project
            out, err = self.manage(*common, *words).communicate()
            if not out.strip():
                raise NotUp(err)
            made[name] = json.loads(out)["key"]
        return made

    @property
    def cluster(self) -> PostgresCluster:
        """Its embedded Postgres."""
        return cluster_of(self.data_dir)

    def supervisor(self) -> psutil.Process:
        """The process of `script/server`."""
        assert self._process is not None
        return psutil.Process(self._process.pid)

    def children(self, words: str = "") -> list[psutil.Process]:
        """Its processes whose command line has these words."""
        return [child for child in self.supervisor().children(recursive=True) if words in " ".join(_command_of(child))]

    def unit(self, name: str) -> psutil.Process:
        """The web server's first process, the worker or the scheduler."""
        self.wait_until(lambda: self.children(UNITS[name]), seconds=60)
        return self.children(UNITS[name])[0]

    def web_processes(self) -> list[psutil.Process]:
        """The processes that answer."""
        return self.unit("web").children()

    def postmaster(self) -> psutil.Process:
        """The first process of its Postgres."""
        self.wait_until(self.cluster.pid, seconds=60)
        pid = self.cluster.pid()
        assert pid is not None
        return psutil.Process(pid)

    def backends(self) -> list[psutil.Process]:
        """The processes of Postgres that serve the product's sessions."""
        return [
            child
            for child in self.postmaster().children()
            if re.search(r"nova_app novamem", " ".join(_command_of(child)))
        ]


def _kept_keys(data_dir: Path) -> dict[str, str]:
    """Return the keys of an installation that was copied."""
    path = data_dir / "keys.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _command_of(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline()
    return []


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
