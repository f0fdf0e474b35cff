"""What benches share: a web server of their own, management commands, and a line about the machine."""

import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path

import httpx2


def machine() -> str:
    """Return what the figures were measured on."""
    parts = ", ".join(
        f"{name} {version(name)}" for name in ("django", "psycopg", "torch", "onnxruntime", "sentence-transformers")
    )
    return f"{os.cpu_count()} cores, {platform.platform()}, Python {platform.python_version()}, {parts}"


def manage(*arguments: str) -> str:
    """Run a management command and answer what it printed."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


@contextmanager
def serving(*, log: Path | None = None, **settings: str) -> Iterator[str]:
    """A web server on a free port against the bench database, warmed up; its URL. It logs to `log`, else here."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    processes = str(min(4, os.cpu_count() or 1))  # as script/server does
    command = [sys.executable, "-m", "novamem.units", "web", "--port", str(port), "--processes", processes]
    with log.open("w") if log else nullcontext() as out:
        server = subprocess.Popen(
            command, env={**os.environ, "LOG_LEVEL": "WARNING", **settings}, stdout=out, stderr=out
        )
        try:
            _wait(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(10)


def _wait(url: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(3000):  # the default model is exported once
        if server.poll() is not None:
            raise SystemExit(f"the web server ended with {server.returncode}")
        try:
            answer = httpx2.get(f"{url}/readyz", trust_env=False)
            if answer.status_code == httpx2.codes.OK and answer.json()["parts"]["embedder"]["state"] == "ok":
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    raise SystemExit("the web server did not become ready in 300 s")
