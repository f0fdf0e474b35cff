"""script/env: which build of torch it takes, with pip and packages in folders."""

import os
import subprocess
import sys
import zipfile

import pytest

from novamem import env

pytestmark = pytest.mark.long  # each makes an environment

PLAIN, SMALL = "1.0", "1.0+cpu"


def publish(index, version):
    """A wheel of an index that is a folder."""
    (index / "torch").mkdir(parents=True, exist_ok=True)
    name, about = f"torch-{version}-py3-none-any.whl", f"torch-{version}.dist-info"
    with zipfile.ZipFile(index / "torch" / name, "w") as wheel:
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        wheel.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{about}/RECORD", "")
    links = "".join(f'<a href="{each.name}">{each.name}</a>\n' for each in (index / "torch").glob("*.whl"))
    (index / "torch" / "index.html").write_text(links)


@pytest.fixture
def installed(tmp_path):
    """Makes an environment with what pip is set up to ask and TORCH_INDEX; the version of torch in it."""

    def install(**given):
        root = tmp_path / "product"
        root.mkdir()
        (root / "requirements.txt").write_text("torch==1.0\n")
        (root / "requirements.lock").write_text("")
        subprocess.run([sys.executable, "-m", "venv", root / ".venv"], check=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        command = ["sh", "-c", f". {env.ROOT}/script/env"]
        own = {"root": str(root), "PIP_CONFIG_FILE": os.devnull}
        done = subprocess.run(command, env={**kept, **own, **given}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        asked = [root / ".venv" / "bin" / "python", "-c", "from importlib.metadata import *; print(version('torch'))"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    return install


@pytest.fixture
def indexes(tmp_path):
    """PyPI, which has the build with everything, and one that has the small build too: by URL."""
    pypi, small = tmp_path / "pypi", tmp_path / "small"
    publish(pypi, PLAIN)
    publish(small, SMALL)
    return pypi.as_uri(), small.as_uri()


def test_the_small_build_is_taken_where_pypi_has_none(installed, indexes):
    pypi, small = indexes
    assert installed(PIP_INDEX_URL=pypi, TORCH_INDEX=small) == SMALL


def test_nobody_else_is_asked_where_pip_knows_of_a_small_build(installed, indexes, tmp_path):
    _, small = indexes
    assert installed(PIP_INDEX_URL=small, TORCH_INDEX=(tmp_path / "away").as_uri()) == SMALL


def test_without_a_small_build_the_other_one_does(installed, indexes, tmp_path):
    pypi, _ = indexes
    assert installed(PIP_INDEX_URL=pypi, TORCH_INDEX=(tmp_path / "away").as_uri()) == PLAIN
