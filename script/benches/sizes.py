"""Sizes: disk and WAL that memories take, part by part, and what one consolidation, seal and backup add.

script/bench sizes                          # 10,000 memories of 330 characters, embedded by minilm
script/bench sizes --memories 2000
"""

import argparse
import os
import random
from typing import Any

import django
from _serving import machine

os.environ.setdefault("LOG_LEVEL", "ERROR")
django.setup()

# Django has to be set up before its models can be imported.
from django.db import connections
from django.utils import timezone

from memories import access, audit, ingest, jobs, tasks
from memories.access import keys
from memories.models import Namespace
from memories.readings import readings

TERMS = ("heron", "otter", "mill", "river", "bridge", "garden", "winter", "letter", "market", "stone", "orchard")
AGENTS, LENGTH, BATCH = 10, 330, 100
# Tables by what people call them; the rest is the last.
PARTS = {
    "memories": ("memories_fragment", "memories_access", "memories_origin"),
    "links": (
        "memories_link",
        "memories_cluster",
        "memories_clustermember",
        "memories_episode",
        "memories_episodemember",
    ),
    "words": ("memories_keywords", "memories_documentfrequency", "memories_keywordstatistics"),
    "names": ("memories_mention", "memories_entity", "memories_relation"),
    "vectors": ("memories_embedding",),
    "history": ("memories_fragmentevent", "memories_claimevent", "memories_seal"),
}


def sentence(chance: random.Random, number: int) -> str:
    """A text of the length, unlike the others."""
    who, where = chance.choice(TERMS).title(), chance.choice(TERMS)
    text = f"Note {number}: {who} {number % 97} met Anna{number % 211} at the {where}."
    while len(text) < LENGTH:
        text += f" {chance.choice(TERMS)} {chance.choice(TERMS)} {chance.randrange(10_000)}"
    return text[:LENGTH].strip()


def measured() -> dict[str, float]:
    """Bytes of each part, of the WAL and of the journal by now, with vacuum's word on sizes."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    found = {(each.name, each.label): each.value for each in readings()}
    sizes = {label: value for (name, label), value in found.items() if name == "table_bytes"}
    parts = {what: sum(sizes.pop(table, 0) for table in tables) for what, tables in PARTS.items()}
    return {
        **parts,
        "other": sum(sizes.values()),
        "journal": found["files_bytes", "journal"],
        "WAL": found["wal_bytes", ""],
    }


def fill(principal: Any, number: int) -> None:
    """Store memories of several agents, with vectors."""
    chance = random.Random(7)
    for start in range(0, number, BATCH):
        drafts = [
            ingest.Draft(namespace=f"{principal.project}:agent-{n % AGENTS}", content=sentence(chance, n))
            for n in range(start, min(start + BATCH, number))
        ]
        ingest.store(principal, ingest.prepare(drafts), now=timezone.now())


def show(title: str, before: dict[str, float], after: dict[str, float], number: int) -> None:
    """Print the difference, in megabytes and bytes a memory."""
    print(f"\n{title}\n| part | MB | bytes a memory |\n|---|---|---|")
    total = 0.0
    for part, value in after.items():
        grown = value - before[part]
        total += grown if part not in ("WAL", "journal") else 0
        print(f"| {part} | {grown / 1e6:.1f} | {grown / number:,.0f} |")
    print(f"| database | {total / 1e6:.1f} | {total / number:,.0f} |")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    given = parser.parse_args()
    machine()
    project = keys.ensure_project(f"sizes-{timezone.now():%H%M%S}")
    principal = access.system_principal(project)
    before = measured()
    fill(principal, given.memories)
    tasks.embed_pending()
    tasks.keep_connections()
    audit.seal(principal, now=timezone.now())
    stored = measured()
    show(f"{given.memories:,} memories, embedded, linked and sealed", before, stored, given.memories)
    for kind, place in [("consolidate", row) for row in _places(principal)] + [("backup", None)]:
        row = jobs.start(principal, kind=kind, namespace=place, options={}, now=timezone.now(), wake_up=False)
        jobs.run(principal, row.id)
    audit.seal(principal, now=timezone.now())
    show(f"{AGENTS} consolidations and a backup", stored, measured(), given.memories)


def _places(principal: Any) -> list[Namespace]:
    with access.enter(principal, why="bench"):
        return list(Namespace.objects.within(principal.project_id))


if __name__ == "__main__":
    main()
