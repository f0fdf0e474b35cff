"""Backups: rows a second out and back, how long a drill takes, and whether memory stays flat.

Fills a namespace, backs it up, verifies and drills the bundle, deletes the namespace and restores it; the record
lines of a second backup have to be the same. Beside both ways stands what a bare COPY of the same does.

    script/bench backups                          # 50,000 and 500,000 fragments
    script/bench backups --fragments 5000
    script/bench backups --from-storage           # also on an empty machine, from what the storage holds
"""

import argparse
import gzip
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import django
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from _bare_copies import memories_in, memories_out
from django.conf import settings
from django.db import connection, connections
from django.utils import timezone
from upkeep import SIZES, fill

from memories import access, audit, backups, jobs
from memories.models import Fragment, Namespace
from novamem.cluster import cluster_of


def timed(principal: Any, kind: str, **options: Any) -> tuple[dict[str, Any], float]:
    """Run a job; its report and the seconds."""
    arguments: dict[str, Any] = {"kind": kind, "namespace": None, "options": options, "now": timezone.now()}
    operation = jobs.start(principal, **arguments, wake_up=False)
    start = time.perf_counter()
    ended = jobs.run(principal, operation.id)
    took = time.perf_counter() - start
    assert ended is not None
    assert ended.state == "succeeded", ended.error
    return ended.report or {}, took


def digest(principal: Any, report: dict[str, Any]) -> str:
    """Of the record lines."""
    whole = hashlib.sha256()
    with backups.storage.open_file(report["file"]) as file, gzip.open(file) as lines:
        kept = b""
        for number, line in enumerate(lines):
            if number > 1:
                whole.update(kept)
            kept = line
    return whole.hexdigest()


def peak() -> float:
    """Return the most memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fragments", type=int, action="append", help="sizes, by default 50,000 and 500,000")
    parser.add_argument("--from-storage", action="store_true", help="also restore on a machine that knows nothing")
    options = parser.parse_args()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        print(f"{machine()}, Postgres {cursor.fetchone()[0]}, load {os.getloadavg()[0]:.1f}")
    for size in options.fragments or SIZES:
        measure(size, elsewhere=options.from_storage)


def measure(size: int, *, elsewhere: bool) -> None:
    """Out and back, with the most memory after each step."""
    principal, space = fill(size)
    filled, steps = peak(), list[tuple[str, float, float]]()

    def seal() -> None:
        """As the schedule does before long; else a backup would seal all that was written here."""
        start = time.perf_counter()
        audit.seal(principal, now=timezone.now())
        steps.append(("seal", time.perf_counter() - start, peak() - filled))

    def step(kind: str, **options: Any) -> dict[str, Any]:
        report, took = timed(principal, kind, **options)
        steps.append((kind, took, peak() - filled))
        return report

    seal()
    made = step("backup")
    bare = {"backup": memories_out(space)}
    if elsewhere:
        on_an_empty_machine(principal.project, size, sentence=_first_text(principal))
    bundle = made["backup_id"]
    step("verify", backup_id=bundle)
    step("drill", backup_id=bundle)
    with access.enter(principal, why="bench"):
        Namespace.objects.within(principal.project_id).filter(id=space.id).delete()
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM")  # as autovacuum will have before long, and not beside the restore
    report = step("restore", backup_id=bundle)
    bare["restore"] = memories_in(principal.project_id, size=size)
    seal()
    again = step("backup")
    same = "same bytes" if digest(principal, made) == digest(principal, again) else "OTHER BYTES"
    print(f"\n{size:,} fragments, {made['size'] / 2**20:.1f} MB, {report['insert']:,} restored, {same}")
    for kind, took, over in steps:
        print(
            f"  {kind:8}{took:7.1f} s {size / took:10,.0f} fragments/s, memory peak {over:5.0f} MB over filling", end=""
        )
        print(f", {size / took / bare[kind]:.0%} of a bare COPY ({bare[kind]:,.0f})" if kind in bare else "")


def _first_text(principal: Any) -> str:
    with access.enter(principal, why="bench"):
        return str(Fragment.objects.within(principal.project_id).values_list("content", flat=True)[0])


def on_an_empty_machine(project: str, size: int, *, sentence: str) -> None:
    """Print how long it takes from an empty data directory to the first answer: the way of docs/backups.md."""
    with tempfile.TemporaryDirectory(prefix="novamem-machine-") as folder:
        data_dir = Path(folder)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DATABASE_")}
        environment |= {"NOVAMEM_DATA_DIR": folder, "BACKUP_DIR": settings.STORAGES["backups"]["OPTIONS"]["location"]}
        before = [sys.executable, "-m", "novamem.embedded", "--own", "--migrate", "always", sys.executable, "manage.py"]
        trusted = ["--trust-signer", audit.fingerprint()]
        steps = {
            "the database": ["check"],
            "restored": ["restore", project, "--from-storage", *trusted, "--json"],
            "answered": ["memory", "search", sentence, "--namespace", f"{project}:main", "--json"],
        }
        print(f"\non an empty machine, {size:,} fragments from the storage alone:")
        try:
            for name, words in steps.items():
                start = time.perf_counter()
                told = subprocess.run([*before, *words], env=environment, check=True, capture_output=True, text=True)
                print(f"  {name:14}{time.perf_counter() - start:7.1f} s")
            assert sentence in told.stdout, "the first text was not found"
        finally:
            cluster = cluster_of(data_dir)
            cluster.stop()
            shutil.rmtree(cluster.home, ignore_errors=True)


if __name__ == "__main__":
    main()
