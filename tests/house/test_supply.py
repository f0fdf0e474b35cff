"""What is installed is what was locked; what is known to be vulnerable is named, and what nobody knows is said."""

import datetime
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINE = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)$", re.MULTILINE)
TODAY = datetime.date(2026, 11, 24)
LOCK = """
one==1.0 \\
    --hash=sha256:00
two[extra]==2.0 ; sys_platform != 'win32' \\
    --hash=sha256:00
"""


@pytest.fixture
def advisories():
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("advisories", ROOT / "script" / "advisories.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def advisory(name, version, *vulns):
    return {"name": name, "version": version, "vulns": [{"id": each, "fix_versions": ["9.9"]} for each in vulns]}


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_the_lock_has_every_requirement_with_hashes(name, advisories):
    lock = (ROOT / f"{name}.lock").read_text()
    locked = advisories.pins(lock)
    wanted = LINE.findall((ROOT / f"{name}.txt").read_text())
    assert wanted
    missing = [each for each in wanted if each[0] != "torch" and (each[0].lower(), each[1]) not in locked]
    assert missing == [], "run script/lock"
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked)
    assert [entry.split("==")[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_of_the_tests_holds_that_of_the_server(advisories):
    server, tests = (
        advisories.pins((ROOT / f"{name}.lock").read_text()) for name in ("requirements", "requirements-dev")
    )
    assert server < tests


def test_torch_is_of_the_machine_and_not_in_the_lock(advisories):
    assert "torch" not in dict(advisories.pins((ROOT / "requirements.lock").read_text()))
    assert "nvidia" not in (ROOT / "requirements.lock").read_text()


def test_what_is_installed_is_what_is_locked(advisories):
    told = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format", "freeze"], capture_output=True, text=True, check=True
    ).stdout
    installed = {name.lower().replace("_", "-").replace(".", "-"): version for name, version in LINE.findall(told)}
    locked = advisories.pins((ROOT / "requirements-dev.lock").read_text())  # some in one version for each Python
    named = {name for name, _ in locked} & installed.keys()
    assert [(name, installed[name]) for name in named if (name, installed[name]) not in locked] == []


def test_a_known_vulnerability_is_named(advisories):
    snapshot = {"made": "2026-11-20", "dependencies": [advisory("one", "1.0", "PYSEC-1"), advisory("two", "2.0")]}
    is_well, said = advisories.scan(LOCK, snapshot, today=TODAY)
    assert not is_well
    assert said == ["one 1.0: PYSEC-1, mended in 9.9", "2 of 2 packages scanned"]


def test_a_vulnerability_of_another_version_is_none_of_ours(advisories):
    snapshot = {"made": "2026-11-20", "dependencies": [advisory("one", "0.9", "PYSEC-1"), advisory("two", "2.0")]}
    is_well, said = advisories.scan(LOCK, snapshot, today=TODAY)
    assert is_well
    assert said[0] == "not scanned, for the snapshot was not asked about them: one 1.0"


@pytest.mark.parametrize(
    ("snapshot", "told"),
    [
        (None, "not scanned: there is no snapshot"),
        (
            {"made": "2026-01-01", "dependencies": [advisory("one", "1.0"), advisory("two", "2.0")]},
            "the snapshot is of 2026",
        ),
    ],
)
def test_what_could_not_be_scanned_is_said(snapshot, told, advisories):
    is_well, said = advisories.scan(LOCK, snapshot, today=TODAY)
    assert is_well
    assert said[0].startswith(told)


def test_the_script_runs_without_a_network():
    done = subprocess.run(
        [sys.executable, "script/advisories.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "scanned" in done.stdout
