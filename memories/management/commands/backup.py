"""`manage.py backup make|list|verify|drill|protect|delete`."""

import json
import uuid
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.table import Table
from typer import Argument, Option

from memories import access, backups
from memories.access import NotFound
from memories.management.bundles import Identity, Plain, Recipients, encryption_option, owner_of_backup, run
from memories.management.job_runner import projects_named
from memories.management.operation_commands import format_table
from memories.models import Backup

Id = Annotated[str, Argument(help="The backup's id.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


class Command(TyperCommand):
    """Backups."""

    help = "Backups: make one, list them, verify or drill one, protect or delete it."

    @command()
    def make(
        self,
        project: Annotated[str, Option(help="The project.")],
        namespace: Annotated[list[str] | None, Option(help="Only this namespace; may be repeated.")] = None,
        policy: Annotated[str, Option(help="full or identity.")] = "full",
        embeddings: Annotated[bool, Option("--embeddings", help="With vectors.")] = False,
        base: Annotated[str, Option(help="Only what changed since this backup.")] = "",
        recipient: Recipients = None,
        plain: Plain = False,
        as_json: Json = False,
    ) -> None:
        """Makes a backup here and now; exit code 1 when that fails."""
        (found,) = projects_named(project)
        options: dict[str, Any] = {"policy": policy, "include_embeddings": embeddings, "namespaces": namespace or []}
        options |= {"base": base} if base else {}
        options |= encryption_option(recipient, plain=plain)
        run(self, access.system_principal(found), "backup", options, as_json=as_json)

    @command(name="list")
    def list_(self, project: Annotated[str, Option(help="Only this project.")] = "", as_json: Json = False) -> None:
        """The backups, the newest first."""
        rows: list[Backup] = []
        for place in projects_named(project):
            principal = access.system_principal(place)
            with access.enter(principal, why="list"):
                rows += backups.backups(principal).order_by("-created_at", "-id")
        if as_json:
            self.stdout.write(json.dumps([_backup_json(row) for row in rows]))
            return
        table = Table(
            "id", "made", "policy", "origin", "records", "bytes", "verified", "drilled", "protected", "encrypted"
        )
        for row in rows:
            marks = (
                row.verdict or "-",
                row.drill_verdict or "-",
                "yes" if row.protected else "",
                "yes" if row.encrypted else "",
            )
            numbers = (str(row.records), f"{row.size:,}")
            table.add_row(str(row.id), f"{row.created_at:%Y-%m-%d %H:%M}", row.policy, row.origin, *numbers, *marks)
        self.stdout.write(format_table(table))

    @command()
    def verify(self, backup_id: Id, identity: Identity = None, as_json: Json = False) -> None:
        """Reads it to its end; exit code 1 when something is wrong."""
        with backups.encryption.identity(identity):
            run(self, owner_of_backup(backup_id), "verify", {"backup_id": backup_id}, as_json=as_json)

    @command()
    def drill(self, backup_id: Id, identity: Identity = None, as_json: Json = False) -> None:
        """Restores it where nobody sees it, and compares; exit code 1 when something is wrong."""
        with backups.encryption.identity(identity):
            run(self, owner_of_backup(backup_id), "drill", {"backup_id": backup_id}, as_json=as_json)

    @command()
    def protect(
        self, backup_id: Id, off: Annotated[bool, Option("--off", help="Let go of it.")] = False, as_json: Json = False
    ) -> None:
        """Keeps it from retention and deletion."""
        row = backups.protect(owner_of_backup(backup_id), uuid.UUID(backup_id), protected=not off)
        self.stdout.write(
            json.dumps(_backup_json(row)) if as_json else f"{row.id}: {'protected' if row.protected else 'free'}"
        )

    @command()
    def key(
        self,
        file: Annotated[Path, Argument(help="Where to write; readable by its owner only.")],
        project: Annotated[str, Option(help="The project.")],
    ) -> None:
        """Writes the key file that a new machine needs to take over the fingerprints of plain backups."""
        (found,) = projects_named(project)
        principal = access.system_principal(found)
        try:
            with access.enter(principal, why="write key"):
                backups.bundle.write_key(principal, file)
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
        self.stdout.write(f"{file}: keep it apart from the backups; `restore --key` takes it")

    @command()
    def delete(self, backup_id: Id, as_json: Json = False) -> None:
        """Deletes it with its file."""
        try:
            backups.delete(owner_of_backup(backup_id), uuid.UUID(backup_id))
        except (backups.StillNeeded, NotFound) as error:
            raise CommandError(str(error)) from error
        told = f"{backup_id}: deleted at {timezone.now():%H:%M}"
        self.stdout.write(json.dumps({"id": backup_id, "deleted": True}) if as_json else told)


def _backup_json(row: Backup) -> dict[str, Any]:
    names = (
        "policy",
        "origin",
        "file",
        "encrypted",
        "size",
        "sha256",
        "signer",
        "records",
        "protected",
        "verdict",
        "drill_verdict",
    )
    return {"id": str(row.id), **{name: getattr(row, name) for name in names}, "created_at": row.created_at.isoformat()}
