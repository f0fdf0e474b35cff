"""What goes into the image is enough to upgrade and serve; where an engine answers, it is built and started."""

import fnmatch
import os
import secrets
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from novamem import database, env
from novamem.database import Logins
from novamem.embedded import running
from tests.novamem.conftest import LOCAL, ended, free_port, get, until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]  # an image that is built fetches its packages
ABSENT = (
    *("Cannot connect to the Docker daemon", "unable to connect to Podman", "permission denied"),
    *(
        "'compose' is not a docker command",
        'unrecognized command "podman compose"',
        "unrecognized command `podman compose`",
    ),
)


@pytest.fixture
def logins(data_dir: Path) -> Iterator[Logins]:
    """A database that nobody has migrated."""
    with running(data_dir) as logins:
        yield database.prepare_database(logins, "image")


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """The files that .dockerignore lets into the image."""
    allowed = [
        line.removeprefix("!") for line in (env.ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")
    ]
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=env.ROOT, capture_output=True, text=True, check=True
    )
    folder = tmp_path / "app"
    for name in listed.stdout.splitlines():
        if any(name == one or fnmatch.fnmatch(name, f"{one}/*") for one in allowed):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(env.ROOT / name, folder / name)
    return folder


def test_what_goes_into_the_image_upgrades_and_serves(context: Path, logins: Logins, tmp_path: Path) -> None:
    port = free_port()
    given = {name: value for name, value in os.environ.items() if name not in env.Settings.model_fields}
    own = {"PYTHONPATH": str(context), "NOVAMEM_DATA_DIR": str(tmp_path / "data"), "EMBEDDER": "fake", "HOST": LOCAL}

    def start(*words: str, **settings: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-P", "-m", *words],
            cwd=context,
            env={**given, **own, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    upgrade = start("novamem.upgrade", DATABASE_URL=logins.app, DATABASE_OWNER_URL=logins.owner)
    code, out, err = ended(upgrade)
    assert (code, "migrations were applied" in out) == (0, True), err
    web = start("novamem.units", "web", "--port", str(port), "--processes", "1", DATABASE_URL=logins.app)
    try:
        assert until(lambda: get(f"http://{LOCAL}:{port}/healthz"), web) == {"status": "ok"}
        for path in ("/login/", "/static/console/frame.css", "/api/docs/"):
            with urllib.request.urlopen(f"http://{LOCAL}:{port}{path}", timeout=60) as answer:
                assert answer.status == 200
    finally:
        web.terminate()
        web.communicate(timeout=60)
    assert web.returncode == 0


def engine() -> tuple[str, str]:
    """The container engine that answers, and why none does."""
    why = ""
    for name in ("docker", "podman"):
        if shutil.which(name):
            for words in (["info"], ["compose", "version"]):
                asked = subprocess.run([name, *words], capture_output=True, text=True, timeout=60)
                if asked.returncode or "Server:" in asked.stderr:
                    why += asked.stdout + asked.stderr
                    break
            else:
                return name, ""
    return "", why


def test_the_image_is_built_and_starts_with_compose() -> None:
    """Without an engine that answers there is nothing to try, and this says so: it must be that and nothing else."""
    name, why = engine()
    if not name:
        assert why == "" or any(one in why for one in ABSENT), why
        return
    port = str(free_port())
    words = [name, "compose", "--project-name", f"novamem-{secrets.token_hex(3)}"]
    passwords = {"APP_PASSWORD": secrets.token_hex(8), "OWNER_PASSWORD": secrets.token_hex(8)}
    given = {**os.environ, **passwords, "PORT": port}

    def compose(*more: str) -> str:
        done = subprocess.run([*words, *more], cwd=env.ROOT, env=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    try:
        compose("up", "--build", "--detach", "--wait", "web", "worker", "scheduler", "indexes")
        assert get(f"http://{LOCAL}:{port}/healthz") == {"status": "ok"}
        assert compose("exec", "-T", "web", "id", "-u").strip() == "10001"
        deadline = time.monotonic() + 120
        while get(f"http://{LOCAL}:{port}/readyz")["status"] != "ok":
            assert time.monotonic() < deadline
            time.sleep(1)
        compose("run", "--rm", "upgrade", "upgrade", "--check")
    finally:
        subprocess.run([*words, "down", "--volumes"], cwd=env.ROOT, env=given, check=False)
