"""Bundles: thousands of damaged and hostile bundles, of which none may be applied, in part or as a whole.

Of a project in which something of every kind has happened: flipped bits of the file and of its lines, lines cut off,
taken out, doubled, moved and spliced, hostile fields and vectors with digests and signatures that fit, bombs, endless
lines, one of 1 GB, lines of many values, unknown versions, forged signatures. Counts what was not detected, applied in
part, or fell over, and the peak of memory over the beginning.

Any column of any record may be given any value: some of these could have been written, and are applied. Then the API is
asked for all its lists and memories, and the project is backed up and drilled again: none of it may fail.

    script/bench bundles                          # 5,000 mutations, and 1,000 of a V1 envelope
    script/bench bundles --mutations 500 --envelopes 100

Nobody signs an envelope: one that is damaged and still one may be applied whole, but nothing that can't be.
"""

import argparse
import gzip
import io
import json
import os
import random
import resource
import time
import uuid
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import django
from _envelopes import CAN_BE, ENVELOPES
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "CRITICAL")
django.setup()

# Django has to be set up before its models can be imported.
from _lived import caller, fell_over, live
from _mutations import Lines, Mutation, any_field, gigabyte, mutations
from backups import timed
from django.core.files.storage import storages
from django.db import transaction
from django.utils import timezone
from rich.progress import track

from memories import access, backups, jobs
from memories.access import keys
from memories.models import Fragment, Namespace

REFUSED = ("broken_bundle", "unknown_version", "wrong_project", "base_missing")
MOST = 256  # MB over the beginning


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=5_000)
    parser.add_argument("--envelopes", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    project = keys.ensure_project(f"bundles-{uuid.uuid4().hex[:8]}")
    principal, client = access.system_principal(project), caller(project, "user_explicit")
    live(principal, client, caller(project, "document"))
    made, _ = timed(principal, "backup", include_embeddings=True)
    with backups.storage.open_file(made["file"]) as file:
        lines = gzip.decompress(file.read()).splitlines()
    with backups.storage.open_file(made["file"]) as file:
        envelope = json.loads(json.dumps(backups.bundle.envelope_of(file, now=timezone.now()), default=str))
    with access.enter(principal, why="bench"):
        Namespace.objects.within(project.id).delete()
    seen, began = Counter[tuple[str, str]](), time.perf_counter()
    # Made in a process of their own: what that takes is no memory of the product's.
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=_know, initargs=(lines,)) as making:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for mutate in track(mutations(rng, options.mutations), total=options.mutations, description="files"):
            data = making.submit(_mutated, mutate, rng.random()).result()
            if outcome := damaged(principal, client, made, data, whole=lines, can_be=mutate is any_field):
                seen[outcome, mutate.__name__] += 1
        making.submit(_lay_gigabyte, storages["backups"].path(made["file"])).result()
    seen[tried(principal, made["backup_id"]), "gigabyte"] += 1
    for _ in track(range(options.envelopes), description="envelopes"):
        change = rng.choice(ENVELOPES)
        outcome = sent(principal, change(envelope, rng))
        if outcome == "undetected" and change in CAN_BE:
            outcome = "applied whole"
        seen[outcome, change.__name__] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    tell(seen, took=time.perf_counter() - began, peak=peak)


_whole: Lines = []  # in the process that makes mutations


def _know(lines: Lines) -> None:
    _whole[:] = lines


def _mutated(mutate: Mutation, seed: float) -> bytes:
    return mutate(_whole, random.Random(seed))


def _lay_gigabyte(path: str) -> None:
    with Path(path).open("wb") as file:
        gigabyte(_whole, file)


def damaged(principal: Any, client: Any, made: dict[str, Any], data: bytes, *, whole: Lines, can_be: bool) -> str:
    """Lay a file where the backup was and restore it; what happened, nothing where it unpacks to the same."""
    text = b"".join(line + b"\n" for line in whole)
    if unpacked(data, most=len(text) + 1) == text:
        return ""  # bits that gzip does not read
    Path(storages["backups"].path(made["file"])).write_bytes(data)
    outcome = tried(principal, made["backup_id"], asks=client)
    return "applied whole" if outcome == "undetected" and can_be else outcome


def tell(seen: Counter[tuple[str, str]], *, took: float, peak: float) -> None:
    """Print what happened; end with 1 where something should not have."""
    counts = Counter[str]()
    for (outcome, _), count in seen.items():
        counts[outcome] += count
    print(f"{machine()}: {sum(counts.values()):,} mutations in {took:.0f} s")
    for what in ("refused", "applied whole", "undetected", "applied in part", "server error"):
        print(f"  {what:16} {counts[what]:,}")
    print(f"  memory over the beginning {peak:.0f} MB (at most {MOST})")
    for (outcome, name), count in sorted(seen.items()):
        if outcome != "refused":
            print(f"  {outcome} {name}: {count}")
    if sum(counts.values()) != counts["refused"] + counts["applied whole"] or peak > MOST:
        raise SystemExit(1)


def unpacked(data: bytes, *, most: int) -> bytes | None:
    """Return what a file holds, as far as that; None where it can't be read."""
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, most)
    except zlib.error:
        return None


def sent(principal: Any, data: bytes) -> str:
    """Send an envelope in and restore it, and take it back; what happened."""
    with access.enter(principal, why="bench"), transaction.atomic():
        try:
            row = backups.import_bundle(principal, io.BytesIO(data), now=timezone.now())
        except (backups.bundle.BrokenBundle, backups.restoration.WrongProject):
            return "refused"
        except Exception:  # noqa: BLE001  # whatever it is, is what is looked for
            transaction.set_rollback(True)
            return "server error"
        outcome = tried(principal, str(row.id))
        backups.delete(principal, row.id)
        transaction.set_rollback(True)
    return outcome


def tried(principal: Any, backup_id: str, *, asks: Any = None) -> str:
    """Restore what lies there, ask for what it brought, and take it back; what happened."""
    with access.enter(principal, why="bench"), transaction.atomic():
        ended = ran(principal, "restore", backup_id=backup_id)
        left = Fragment.objects.within(principal.project_id).count()
        whole = ended is not None and ended.state == "succeeded"
        broken = whole and asks is not None and not stands(principal, asks)
        transaction.set_rollback(True)
    if whole:
        return "server error" if broken else "undetected"
    if left:
        return "applied in part"
    code = ended and ended.error and ended.error["code"]
    return "refused" if code in REFUSED else "server error"


def ran(principal: Any, kind: str, **options: Any) -> Any:
    """Return a job that has ended."""
    arguments: dict[str, Any] = {"kind": kind, "namespace": None, "options": options}
    return jobs.run(principal, jobs.start(principal, **arguments, now=timezone.now(), wake_up=False).id)


def stands(principal: Any, client: Any) -> bool:
    """Return whether all of it can be read, backed up, and restored from that."""
    if path := fell_over(client, principal):
        print(f"  {path} fell over")
        return False
    made = ran(principal, "backup", include_embeddings=True)
    if made.state != "succeeded":
        print(f"  backup: {made.error}")
        return False
    drill = ran(principal, "drill", backup_id=made.report["backup_id"])
    fine = drill.state == "succeeded"
    if not fine:
        print(f"  drill: {drill.error}")
    backups.delete(principal, uuid.UUID(made.report["backup_id"]))
    return fine


if __name__ == "__main__":
    main()
