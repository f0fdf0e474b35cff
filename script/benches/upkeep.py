"""Upkeep: what a consolidation costs as its namespace grows, and how many of the near-duplicates it finds.

Fills a namespace with sentences and vectors around real embeddings of such sentences; a tenth are near-duplicates
(cosine about .97) of others, a twentieth have faded. Dry run, run and undo of each size, in seconds by stage; growth
ratio between sizes; the peak of the memory; pair recall against the pairs that were made.

    script/bench upkeep                          # 50,000 and 500,000 fragments
    script/bench upkeep --fragments 5000 --fragments 20000
"""

import argparse
import os
import resource
import time
import uuid
from typing import Any

import django
import numpy as np
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
import _population
from django.db import connection, connections
from django.utils import timezone
from rich.progress import track

from conflicts.search_index import embeddings, index_keywords
from memories import access, jobs
from memories.access import keys
from memories.models import Fragment, Operation
from memories.models.bulk import insert
from memories.providers import active_model
from memories.upkeep.consolidation.near_duplicates import find_near_duplicates

SIZES, BATCH, TWINS, FADED = (50_000, 500_000), 5_000, 0.1, 0.05
APART = 0.25  # how far a twin lies from its like: a cosine of about .97
SPREAD = 0.5  # how far a vector lies from a real embedding: two around one have a cosine of about .8


def fill(count: int) -> tuple[Any, Any]:
    """Return a project with one namespace of so many fragments: who works on it, and the namespace."""
    texts, noise = _population.Texts(), np.random.default_rng(2)
    project = keys.ensure_project(f"upkeep-{uuid.uuid4().hex[:8]}")
    principal, model, now = access.system_principal(project), active_model(), timezone.now()
    owners = [uuid.uuid4(), uuid.uuid4()]
    for start in track(range(0, count, BATCH), description=f"{count:,} fragments"):
        size = min(BATCH, count - start)
        contents, _ = texts.batch(size)
        vectors = _around(texts.centres, noise, size)
        doubled = int(size * TWINS)
        contents[-doubled:] = contents[:doubled]
        near = vectors[:doubled] + APART * _directions(noise, vectors[:doubled].shape)
        vectors[-doubled:] = near / np.linalg.norm(near, axis=1, keepdims=True)
        with access.enter(principal, why="bench"):
            space = access.writable(principal, f"{project.name}:main")
            rows = [_row(principal, space, text, n, now, owners, size) for n, text in enumerate(contents)]
            insert(rows)
            index_keywords([row.id for row in rows])
            insert(embeddings([(row, vector, []) for row, vector in zip(rows, vectors, strict=True)], model=model))
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")  # as autovacuum would before long
    return principal, space


def _around(centres: Any, noise: Any, count: int) -> Any:
    """Unit vectors around real embeddings, apart from one another: who is a twin was made one."""
    vectors = centres[noise.integers(0, len(centres), count)]
    vectors = vectors + SPREAD * noise.normal(size=vectors.shape) / np.sqrt(vectors.shape[1])
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _directions(noise: Any, shape: tuple[int, int]) -> Any:
    found = noise.normal(size=shape)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _row(principal: Any, space: Any, text: str, number: int, now: Any, owners: list[Any], size: int) -> Fragment:
    row = _population.fragment(principal, space, text, 0, now)
    row.owner_id = owners[number % 2]
    row.importance = 0.3
    if size * 0.2 < number < size * (0.2 + FADED):
        row.base_relevance = 0.05
    return row


def consolidate(principal: Any, space: Any, *, dry_run: bool, **options: Any) -> tuple[Operation, dict[str, float]]:
    """Run one; how long each stage took."""
    arguments: dict[str, Any] = {"kind": "consolidate", "namespace": space, "options": options, "dry_run": dry_run}
    operation = jobs.start(principal, **arguments, now=timezone.now(), wake_up=False)
    return _timed(principal, operation)


def _timed(principal: Any, operation: Operation) -> tuple[Operation, dict[str, float]]:
    took: dict[str, float] = {}
    last = ["begin", time.perf_counter()]

    def watch(stage: str, done: int, total: int | None) -> None:
        now = time.perf_counter()
        took[last[0]] = took.get(last[0], 0.0) + now - last[1]
        last[:] = [stage, now]

    ended = jobs.run(principal, operation.id, watcher=watch)
    watch("end", 0, None)
    assert ended is not None
    assert ended.state == "succeeded", (ended.error, ended.report)
    return ended, took


def recall(count: int) -> float:
    """Return the share of made pairs that the search for twins finds among `count` vectors."""
    texts, noise = _population.Texts(), np.random.default_rng(3)
    _, vectors = texts.batch(count)
    doubled = int(count * TWINS)
    near = vectors[:doubled] + APART * _directions(noise, vectors[:doubled].shape)
    vectors[-doubled:] = near / np.linalg.norm(near, axis=1, keepdims=True)
    start = time.perf_counter()
    pairs, _ = find_near_duplicates(
        vectors.astype(np.float16), floor=0.95, centre=vectors.mean(axis=0).astype(np.float32)
    )
    took = time.perf_counter() - start
    cosines = np.einsum("ij,ij->i", vectors[:doubled], vectors[-doubled:])
    made = {(n, count - doubled + n) for n in np.nonzero(cosines > 0.951)[0].tolist()}
    found = {(int(one), int(other)) for one, other in pairs}
    share = len(made & found) / max(1, len(made))
    print(f"  twins among {count:,}: {took:.1f} s, {len(pairs):,} pairs, recall of {len(made):,} made ones {share:.4f}")
    return share


def told(name: str, took: dict[str, float]) -> float:
    """Print the seconds of each stage; the sum."""
    whole = sum(took.values())
    print(f"  {name:8} {whole:7.1f} s: " + ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in took.items()))
    return whole


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fragments", type=int, action="append", help="sizes, by default 50,000 and 500,000")
    options = parser.parse_args()
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        print(f"{machine()}, Postgres {cursor.fetchone()[0]}, load {os.getloadavg()[0]:.1f}")
    before: float | None = None
    for size in options.fragments or SIZES:
        principal, space = fill(size)
        print(f"\n{size:,} fragments")
        plan, took = consolidate(principal, space, dry_run=True)
        told("dry run", took)
        done, took = consolidate(principal, space, dry_run=False, plan_id=str(plan.id), confirm=True)
        told("apply", took)
        numbers = {name: done.report[name] for name in ("merged", "corroborated", "archived", "decayed")}
        print(f"  {numbers}")
        again, took = consolidate(principal, space, dry_run=False)
        told("again", took)
        undo = jobs.start_undo(principal, done.id, now=timezone.now(), wake_up=False)
        told("undo", _timed(principal, undo)[1])
        whole = plan.report["duration_ms"] / 1000 + done.report["duration_ms"] / 1000
        ratio = f", × {whole / before:.1f} of the size before" if before else ""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"  dry run and run {whole:.1f} s{ratio}; memory peak {peak:.0f} MB; again {again.report['planned']} steps"
        )
        before = whole
        recall(size)  # last, for it takes more memory than what is measured above


if __name__ == "__main__":
    main()
