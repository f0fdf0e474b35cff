"""LangGraph's own tests of a store, run against the store for it in clients/; what passes, what does not apply and why.

Its tests are fetched as the sources of the pinned packages, into var/bench/langgraph.
    script/bench langgraph_store [--json]
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from dataclasses import asdict, dataclass
from pathlib import Path

import django

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

from django.conf import settings

from script.benches._langgraph.reasons import LEFT_OUT
from script.benches._peers.installing import NotInstalled, pinned, python_with
from script.benches._serving import machine, manage, serving

ROOT = Path(__file__).resolve().parents[2]
TAKING = ROOT / "script" / "benches" / "_langgraph"
PROJECT = "langgraph"
PACKAGES = [
    "langgraph-checkpoint",
    "langgraph-checkpoint-postgres",
    "langchain-core",
    "psycopg",
    "httpx2",
    "pytest",
    "pytest-asyncio",
    "pytest-mock",
]
# Each module of ours that takes their tests, the package that has them, and which of its modules.
SUITES = [
    ("test_memory.py", "langgraph-checkpoint", "test_store"),
    ("test_postgres.py", "langgraph-checkpoint-postgres", "test_store"),
    ("test_postgres_async.py", "langgraph-checkpoint-postgres", "test_async_store"),
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one of their modules; each parameter of a test counts."""

    package: str
    module: str
    passed: int
    failed: list[str]
    skipped: int
    left_out: dict[str, str]


def sources(package: str, python: Path, home: Path) -> Path:
    """Return the unpacked sources of a package, with its tests. Raise NotInstalled."""
    name = pinned([package])[0]
    folder = home / name
    if not folder.exists():
        fetched = home / "fetched"
        command = [
            str(python),
            "-m",
            "pip",
            "download",
            "--no-deps",
            f"--no-binary={package}",
            "-d",
            str(fetched),
            name,
        ]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        files = sorted(fetched.glob(f"{package.replace('-', '_')}-{name.partition('==')[2]}.tar.gz"))
        if done.returncode or not files:
            raise NotInstalled(f"the sources of {name} can't be had: {done.stderr.strip()[-300:]}")
        with tarfile.open(files[0]) as archive:
            archive.extractall(folder, filter="data")
    return next(folder.iterdir())


def run(ours: str, package: str, module: str, *, python: Path, home: Path, told: dict[str, str]) -> Outcome:
    """Run one of their modules against our store."""
    lies = sources(package, python, home)
    report = home / f"{ours}.xml"
    path = os.pathsep.join(map(str, (lies, TAKING, ROOT / "clients" / "python")))
    # -c: what this project says to pytest, and what they do, is not meant here.
    command = [str(python), "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(TAKING), "-p", "no:cacheprovider"]
    command += ["-o", "asyncio_mode=auto", f"--junitxml={report}", str(TAKING / ours)]
    report.unlink(missing_ok=True)
    done = subprocess.run(
        command,
        env={**os.environ, **told, "PYTHONPATH": path},
        stdout=sys.stderr,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if not report.exists():
        raise SystemExit(f"✗ {ours} could not be run: pytest ended with {done.returncode}")
    cases = list(ET.parse(report).iter("testcase"))
    failed = [
        case.get("name", "") for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = len(cases) - len(failed) - skipped
    return Outcome(package, module, passed, failed, skipped, LEFT_OUT[package, module])


def main() -> int:
    """Run them all; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    wanted = parser.parse_args()
    home = settings.DATA_DIR / "langgraph"
    home.mkdir(parents=True, exist_ok=True)
    try:
        python = python_with(PACKAGES, home=home)
        key = json.loads(manage("apikey", "create", "--project", PROJECT, "--rate", "0", "--json"))["key"]
        with serving(log=home / "server.log") as url:
            values = {"NOVAMEM_URL": url, "NOVAMEM_KEY": key, "NOVAMEM_PROJECT": PROJECT}
            outcomes = [run(*suite, python=python, home=home, told=values) for suite in SUITES]
    except NotInstalled as error:
        print(f"✗ {error}", file=sys.stderr)
        return 2
    if wanted.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes], indent=2))
    else:
        print(machine(), *pinned(PACKAGES[:2]), sep="\n")
        for found in outcomes:
            counts = f"{found.passed} passed, {len(found.failed)} failed, {found.skipped} skipped"
            print(f"\n{found.package} {found.module}: {counts}")
            print(*(f"  ✗ {name}" for name in found.failed), sep="\n", end="\n" if found.failed else "")
            for name, reason in found.left_out.items():
                print(f"  left out: {name}: {reason}")
    return 1 if any(found.failed for found in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
