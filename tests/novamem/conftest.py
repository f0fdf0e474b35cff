"""A cluster of their own for the tests of what brings one; made once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from novamem import env
from novamem.cluster import Cluster, cluster_of
from novamem.embedded import running

Python = Callable[..., "subprocess.Popen[str]"]


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
def server(data_dir: Path) -> Cluster:
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
        environment = {**os.environ, "PYTHONPATH": path, "DATABASE_URL": "", **settings}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, **options}
        return subprocess.Popen([sys.executable, "-P", *words], env=environment, **pipes)

    return start
