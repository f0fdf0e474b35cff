"""What is wrong where something is to start: one line says what and how, nothing else happens."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from novamem import env

pytestmark = pytest.mark.long  # each starts a process

PROGRAMS = {
    "server": ["-m", "novamem.server"],
    "upgrade": ["-m", "novamem.upgrade"],
    "web": ["-m", "novamem.units", "web"],
    "manage": ["-m", "novamem.embedded", "--migrate", "new", sys.executable, "manage.py", "stats"],
}
Start = Callable[..., "subprocess.CompletedProcess[str]"]
ALONE = pytest.mark.parametrize("program", ["server", "upgrade", "manage"])


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Starts a program with these settings and no others."""

    def run(program: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        given = {name: value for name, value in os.environ.items() if name not in env.Settings.model_fields}
        own = {"NOVAMEM_DATA_DIR": str(tmp_path / "var"), "EMBEDDER": "fake", "PYTHONPATH": str(env.ROOT)}
        return subprocess.run(
            [sys.executable, "-P", *PROGRAMS[program]], env={**given, **own, **settings}, cwd=env.ROOT,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    return run


def line(done: "subprocess.CompletedProcess[str]") -> str:
    """The only line that it said before it ended by 1."""
    assert (done.returncode, done.stdout) == (1, "")
    said = [text for text in done.stderr.splitlines() if not text.startswith(("✓", "✗ database"))]
    assert len(said) == 1, done.stderr
    assert said[0].startswith("✗ ")
    return said[0]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[server\nport = 1", r"nova\.toml is no TOML: .* line 1"),
        ("[server]\nprot = 1", r"nova\.toml: .*server\.prot"),
        ("[server]\nport = 'x'", r"server\.port: Input should be a valid integer"),
    ],
)
def test_broken_toml(program: str, text: str, why: str, start: Start, tmp_path: Path) -> None:
    (tmp_path / "nova.toml").write_text(text)
    assert re.search(why, line(start(program, NOVAMEM_CONFIG=str(tmp_path / "nova.toml"))))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_wrong_database_url(program: str, start: Start) -> None:
    assert "DATABASE_URL must be a URL such as postgres://" in line(start(program, DATABASE_URL="mysql://me@host/name"))


@ALONE
def test_a_database_that_is_not_there(program: str, start: Start) -> None:
    url = "postgres://nova_app:x@127.0.0.1:9/name"
    said = line(start(program, DATABASE_URL=url, DATABASE_OWNER_URL=url.replace("nova_app", "owner")))
    assert re.search("does not lead to a database: .* Does Postgres run there, and are user and password right", said)


@ALONE
def test_a_disk_that_can_not_be_written(program: str, start: Start) -> None:
    said = line(start(program, NOVAMEM_DATA_DIR="/proc/novamem"))
    assert re.search(r"/proc/novamem: .*\. NOVAMEM_DATA_DIR has to be a folder that the user \w+ may write to", said)


@ALONE
def test_a_file_in_the_place_of_the_data_directory(program: str, start: Start, tmp_path: Path) -> None:
    (tmp_path / "var").write_text("")
    assert f"{tmp_path / 'var'}: File exists. NOVAMEM_DATA_DIR has to be a folder" in line(start(program))


@contextmanager
def disk(folder: Path, options: str) -> Iterator[Path]:
    """A disk of its own at this place."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk that is full."""
    with disk(tmp_path / "full", "size=64k,nr_inodes=2") as folder:
        (folder / "filling").touch()
        yield folder


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nobody may write, root neither."""
    with disk(tmp_path / "shut", "ro,size=64k") as folder:
        yield folder


@ALONE
@pytest.mark.disk
def test_no_room(program: str, start: Start, full: Path) -> None:
    said = line(start(program, NOVAMEM_DATA_DIR=str(full)))
    assert f"{full}/" in said
    assert "No space left on device. Make room there, or let NOVAMEM_DATA_DIR name a folder on another disk." in said


@ALONE
@pytest.mark.disk
def test_a_read_only_disk(program: str, start: Start, read_only: Path) -> None:
    assert "NOVAMEM_DATA_DIR has to be a folder that the user" in line(start(program, NOVAMEM_DATA_DIR=str(read_only)))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_wrong_time_zone_of_postgres(program: str, start: Start) -> None:
    assert "PGTZ=Nonsense/Zone is no time zone" in line(start(program, PGTZ="Nonsense/Zone"))


def test_a_wrong_time_zone_of_the_machine_is_no_matter(start: Start) -> None:
    done = start("web", TZ="Nonsense/Zone")
    assert "DATABASE_URL is not set" in line(done)
