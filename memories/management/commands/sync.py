"""`manage.py sync --project P --to URL`."""

import json
import uuid
from typing import Annotated

from django.core.management import CommandError
from django_typer.management import TyperCommand
from rich.console import Console
from typer import Option

from memories import access, backups
from memories.management.bundles import run
from memories.management.job_runner import projects_named

NUMBERS = (
    *("insert", "update", "unchanged", "skipped_stale", "conflict", "blocked_by_erasure", "contained", "forgotten"),
)


class Command(TyperCommand):
    """Sync."""

    help = "Pushes what a project remembers to another instance: only what changed since it took the last push."

    def handle(
        self,
        project: Annotated[str, Option(help="The project; it has the same name there.")],
        to: Annotated[str, Option(help="The other instance's address.")],
        key: Annotated[str, Option(envvar="SYNC_KEY", help="A key there: all of the project, admin.")],
        embeddings: Annotated[bool, Option("--embeddings", help="With vectors.")] = False,
        patience: Annotated[float | None, Option(help="Seconds to wait for it; without end when not given.")] = None,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Waits until the other instance answers. Broken off anywhere, the next one goes on."""
        (found,) = projects_named(project)
        principal, errors = access.system_principal(found), Console(stderr=True)
        remote = backups.push.Remote(to, key, patience=patience, notice=errors.print)
        try:
            made = run(
                self,
                principal,
                "backup",
                backups.push.push_options(principal, remote, embeddings=embeddings),
                quiet=True,
            )
            report = remote.restore(backups.get_backup(principal, uuid.UUID(made["backup_id"])))
        except (backups.push.Unreachable, backups.push.PushRefused) as error:
            raise CommandError(str(error)) from error
        output = {
            "backup_id": made["backup_id"],
            "bytes": made["size"],
            **{name: report.get(name, 0) for name in NUMBERS},
        }
        output["left_out"] = report.get("left_out", {})
        numbers = ", ".join(f"{output[name]} {name}" for name in NUMBERS if output[name]) or "nothing new"
        self.stdout.write(json.dumps(output) if as_json else f"{made['size']:,} bytes pushed to {to}: {numbers}")
