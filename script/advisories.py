"""Known vulnerabilities of what requirements-dev.lock names, by a snapshot that lies in the repository.

    .venv/bin/python script/advisories.py          holds the lock against .ci/advisories.json; asks nobody
    .venv/bin/python script/advisories.py renew    makes the snapshot, where PyPI's advisories can be reached

What the snapshot does not answer is said, never passed over: no snapshot, an old one, packages it was not asked about.
"""

import datetime
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK, SNAPSHOT = ROOT / "requirements-dev.lock", ROOT / ".ci" / "advisories.json"
TOOL = "pip-audit==2.10.1"
OLD = datetime.timedelta(days=30)
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^]]*\])?==([^ ;\\]+)", re.MULTILINE)


def pins(lock: str) -> set[tuple[str, str]]:
    """Return names and versions of a lock."""
    return set(PIN.findall(lock))


def scan(lock: str, snapshot: dict[str, Any] | None, *, today: datetime.date) -> tuple[bool, list[str]]:
    """Return whether no vulnerability is known, and what to say."""
    if snapshot is None:
        return True, ["not scanned: there is no snapshot of advisories; `script/advisories.py renew` makes one"]
    wanted, pinned = pins(lock), {(each["name"], each["version"]): each["vulns"] for each in snapshot["dependencies"]}
    lines = [
        f"{name} {version}: {vuln['id']}, mended in {', '.join(vuln['fix_versions']) or 'no version'}"
        for name, version in sorted(wanted & pinned.keys())
        for vuln in pinned[name, version]
    ]
    is_well = not lines
    if today - (made := datetime.date.fromisoformat(snapshot["made"])) > OLD:
        lines.append(f"the snapshot is of {made}: older advisories only; `script/advisories.py renew` makes a new one")
    if unasked := sorted(f"{name} {version}" for name, version in wanted - pinned.keys()):
        lines.append(f"not scanned, for the snapshot was not asked about them: {', '.join(unasked)}")
    return is_well, [*lines, f"{len(wanted & pinned.keys())} of {len(wanted)} packages scanned"]


def renew() -> None:
    """Ask about every package of the lock and write the snapshot. Raise CalledProcessError where nobody answers."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([f"{folder}/bin/python", "-m", "pip", "install", "--quiet", TOOL], check=True)
        words = ["-r", str(LOCK), "--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        done = subprocess.run([f"{folder}/bin/pip-audit", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):  # 1: it found something
        sys.stderr.write(done.stderr)
        raise subprocess.CalledProcessError(done.returncode, "pip-audit")
    answered = [each for each in json.loads(done.stdout)["dependencies"] if "skip_reason" not in each]
    if not answered:
        raise SystemExit("Nobody answered about any package: the snapshot stays as it was.")
    for each in answered:
        each["vulns"] = [{name: vuln[name] for name in ("id", "fix_versions", "aliases")} for vuln in each["vulns"]]
    values = {"made": datetime.datetime.now(tz=datetime.UTC).date().isoformat(), "dependencies": answered}
    SNAPSHOT.write_text(json.dumps(values, indent=1) + "\n")


def main() -> None:
    """Scan, or make the snapshot."""
    if sys.argv[1:] == ["renew"]:
        renew()
    snapshot = json.loads(SNAPSHOT.read_text()) if SNAPSHOT.exists() else None
    is_well, lines = scan(LOCK.read_text(), snapshot, today=datetime.datetime.now(tz=datetime.UTC).date())
    print("\n".join(lines))
    raise SystemExit(0 if is_well else 1)


if __name__ == "__main__":
    main()
