"""What a plan of a restore would do, by a few examples: their ids, with their sentence where it can be read."""

import uuid
from collections.abc import Mapping
from itertools import islice
from typing import Any

from django.utils import timezone

from memories import access, backups
from memories.access import Principal
from memories.backups.restoration import moved_id
from memories.console.errors import run_action
from memories.models import Fragment

EACH, LOOKED = 5, 2_000  # examples of each kind; records of the file that are looked through for them
TOLD = {
    "insert": "come back",
    "update": "are replaced",
    "skipped_stale": "are left out",
    "conflict": "are for a person to settle",
    "blocked_by_erasure": "stay forgotten",
    "rejected": "are refused",
}


def samples_of(
    principal: Principal, file: str, report: Mapping[str, Any], *, salt: str = ""
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return by kind, (id, sentence); what stands here is told as it stands, what is only in the backup as it is there.

    Nothing is read of what was forgotten. `salt`: of the ids of a namespace that moves.
    """
    by_kind: dict[str, list[str]] = {kind: [] for kind in TOLD}
    for part in (report.get("namespaces") or {}).values():
        for kind in TOLD:
            by_kind[kind] += [*part.get("samples", {}).get(kind, []), *part.get("ids", {}).get(kind, [])]
    named = {kind: ids[:EACH] for kind, ids in by_kind.items() if ids}
    ids = {i for kind, these in named.items() for i in these if kind != "blocked_by_erasure"}
    with access.enter(principal, why="console"):
        rows = Fragment.objects.within(principal.project_id).in_bulk([uuid.UUID(i) for i in ids])
    says = {str(i): row.content for i, row in rows.items()}
    says |= _written(file, ids - says.keys(), salt) if file and ids - says.keys() else {}
    return [(TOLD[kind], [(i, says.get(i, "")) for i in these]) for kind, these in named.items()]


def _written(file: str, ids: set[str], salt: str) -> dict[str, str]:
    """Return the sentences that the beginning of the file holds; the plan names the first ones of it."""

    def read() -> dict[str, str]:
        with backups.storage.open_decrypted(file) as opened:
            records = islice(backups.bundle.records_of(opened, now=timezone.now()), LOOKED)
            rows = (one["row"] for one in records if one.get("kind") == "fragment")
            told = ((moved_id(row["id"], salt=salt) if salt else row["id"], row["content"]) for row in rows)
            return {i: content for i, content in told if i in ids}

    found, _ = run_action(read)
    return found or {}
