"""Tenants: what the worker's rounds cost where most projects are idle, beside a round that enters each project.

script/bench tenants                        # 2,000 projects, ten of which were just written to
script/bench tenants --projects 10000 --busy 100
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import django
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from django.utils import timezone

from memories import access, ingest, tasks
from memories.access import Principal, keys
from memories.models import Project

# By how many seconds lie between two rounds: novamem.celery.
ROUNDS: dict[Callable[[], None], int] = {
    tasks.look_for_work: 15,
    **dict.fromkeys(tasks.ROUNDS.values(), 15),
    tasks.keep_search_fast: 60,
    tasks.seal_events: 60,
    tasks.trim_proposals: 300,
}


def seconds(work: Callable[[], Any]) -> float:
    """How long it takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def enter_each() -> None:
    """Enter each project and ask nothing: the least that a round costs which asks them in turn."""
    for project in Project.objects.order_by("name"):
        with access.enter(access.system_principal(project), why="bench"):
            pass


def write(principal: Principal, number: int) -> None:
    """Leave something to do: a text without its vector."""
    draft = ingest.Draft(namespace=f"{principal.project}:main", content=f"Note {number} of {principal.project}.")
    ingest.store(principal, ingest.prepare([draft], embed_now=False), now=timezone.now())


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=2_000)
    parser.add_argument("--busy", type=int, default=10, help="of them, written to before each round")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    machine()
    made = [keys.ensure_project(f"tenant-{number}") for number in range(given.projects)]
    first = seconds(tasks.seal_events)
    each = statistics.median(seconds(enter_each) for _ in range(given.rounds))
    print(f"{given.projects:,} projects, {given.busy} busy. A worker's first round of seals: {first:.1f} s")
    print(f"a round that enters each project: {each * 1000:,.0f} ms\n")
    print("| task | every | ms | of a core | ratio |\n|---|---|---|---|---|")
    taken: dict[Callable[[], None], list[float]] = {task: [] for task in ROUNDS}
    for number in range(given.rounds):
        for project in made[: given.busy]:
            write(access.system_principal(project), number)
        for task, times in taken.items():
            times.append(seconds(task))
    for task, every in ROUNDS.items():
        median = statistics.median(taken[task])
        name = getattr(task, "name", "").rpartition(".")[2]
        print(f"| {name} | {every} s | {median * 1000:,.1f} | {median / every:.2%} | {median / each:.4f} |")


if __name__ == "__main__":
    main()
