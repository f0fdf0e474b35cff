"""`manage.py ingest --namespace N FILE…`."""

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from typer import Argument, Option

from memories import access, ingest
from memories.access import keys
from memories.management.operation_commands import OfUser, scope_named

BATCH = 64


class Command(TyperCommand):
    """Ingest files."""

    help = (
        "Ingests chat JSON (LoCoMo layout too), JSON Lines, Markdown, text, PDF, HTML, Word, PowerPoint, Excel and CSV."
    )

    def handle(
        self,
        files: Annotated[list[Path], Argument(help="Files to read.")],
        namespace: Annotated[str, Option(help="Where to store: project:agent.")],
        user: OfUser = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Stores what is worth keeping; the same file twice adds nothing."""
        scope = scope_named(namespace, user)
        try:
            messages = {path: list(ingest.files.read(path)) for path in files}
            project = keys.ensure_project(scope.partition(":")[0])
        except (ingest.files.UnreadableFile, keys.BadGrant) as error:
            raise CommandError(str(error)) from error
        principal = access.system_principal(project)
        reports = [self._ingest_one(principal, path, messages[path], scope) for path in files]
        if as_json:
            self.stdout.write(json.dumps(reports))
            return
        for report in reports:
            reasons = ", ".join(f"{n} {reason}" for reason, n in sorted(report["skipped"].items())) or "none"
            self.stdout.write(f"{report['file']}: {report['stored']} stored, skipped: {reasons}")

    def _ingest_one(
        self, principal: access.Principal, path: Path, messages: list[ingest.files.Message], namespace: str
    ) -> dict[str, Any]:
        stored, skipped = 0, dict[str, int]()
        rest = iter(messages)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(path.name, total=len(messages))
            while batch := list(islice(rest, BATCH)):
                report = ingest.messages.ingest(principal, batch, namespace=namespace, now=timezone.now())
                stored += len(report.stored)
                for skip in report.skipped:
                    skipped[skip.reason] = skipped.get(skip.reason, 0) + 1
                bar.advance(task, len(batch))
        return {"file": str(path), "messages": len(messages), "stored": stored, "skipped": skipped}
