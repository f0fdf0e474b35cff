"""`manage.py import mem0|letta|openmemory|mcp|chatgpt|claude|gemini|csv FILE`, and `import bundle FILE`."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

from django.core.management import CommandError, call_command
from django.utils import timezone
from django_typer.management import TyperCommand
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer import Argument, Option

from memories import access, ingest
from memories.access import keys
from memories.compat import exports
from memories.management.operation_commands import OfUser, scope_named
from memories.models.enums import Status

BATCH = 64


class Command(TyperCommand):
    """Import from another memory system."""

    help = "Imports exports of mem0, Letta, OpenMemory, the MCP memory server, ChatGPT, Claude, Gemini; and CSV."

    def handle(
        self,
        layout: Annotated[str, Argument(help=f"bundle, or one of: {', '.join(exports.LAYOUTS)}.")],
        file: Annotated[Path, Argument(help="The file.")],
        namespace: Annotated[str, Option(help="Where to store: project:agent; a bundle knows it.")] = "",
        user: OfUser = "",
        as_json: Annotated[bool, Option("--json", "-j", help="Print JSON.")] = False,
    ) -> None:
        """Stores each memory of the file; the same file twice adds nothing."""
        if layout == "bundle":
            call_command("restore", str(file), as_json=as_json, stdout=self.stdout)
            return
        if layout not in exports.LAYOUTS:
            raise CommandError(f"Unknown layout {layout!r}; use one of {', '.join(exports.LAYOUTS)}.")
        scope = scope_named(namespace, user)
        try:
            drafts = exports.read(layout, file, namespace=scope)
            principal = access.system_principal(keys.ensure_project(scope.partition(":")[0]))
        except (exports.UnreadableExport, keys.BadGrant) as error:
            raise CommandError(str(error)) from error
        counts = self._store(principal, drafts, file.name)
        output = {"file": str(file), "memories": len(drafts), **counts}
        words = ", ".join(f"{number} {what}" for what, number in counts.items()) or "nothing to store"
        self.stdout.write(json.dumps(output) if as_json else f"{file}: {words}")

    def _store(self, principal: access.Principal, drafts: list[ingest.Draft], name: str) -> dict[str, int]:
        """How many were stored, stood already, wait for a person, or were forgotten before."""
        counts = Counter[str]()
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(name, total=len(drafts))
            for start in range(0, len(drafts), BATCH):
                batch = drafts[start : start + BATCH]
                prepared = ingest.prepare(batch)
                for place in range(len(batch)):
                    counts[_import_one(principal, prepared.only(place))] += 1
                bar.advance(task, len(batch))
        return dict(sorted(counts.items()))


def _import_one(principal: access.Principal, prepared: ingest.Prepared) -> str:
    """What became of a memory."""
    keep = ingest.store_events if prepared.drafts[0].source_id else ingest.store_each
    (admission,) = keep(principal, prepared, now=timezone.now())
    if admission is None:
        return "blocked_by_erasure"
    if admission.deduplicated:
        return "already_known"
    return "stored" if admission.fragment.status == Status.ACTIVE else str(admission.fragment.status)
