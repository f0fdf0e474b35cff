"""`manage.py export FILE --project P`."""

import shutil
import uuid
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django_typer.management import TyperCommand
from typer import Argument, Option

from memories import access, backups
from memories.management.bundles import Plain, Recipients, encryption_option, run
from memories.management.job_runner import projects_named
from memories.management.operation_commands import OfUser, scope_named


class Command(TyperCommand):
    """Export."""

    help = "Makes a backup and copies its bundle to a file; `restore FILE` brings it in again."

    def handle(
        self,
        file: Annotated[Path, Argument(help="Where to write.")],
        project: Annotated[str, Option(help="The project.")],
        namespace: Annotated[list[str] | None, Option(help="Only this namespace; may be repeated.")] = None,
        user: OfUser = "",
        policy: Annotated[str, Option(help="full or identity.")] = "full",
        embeddings: Annotated[bool, Option("--embeddings", help="With vectors.")] = False,
        recipient: Recipients = None,
        plain: Plain = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Exit code 1 when that fails; the backup stays as any other."""
        (found,) = projects_named(project)
        principal = access.system_principal(found)
        if user and not namespace:
            raise CommandError("Say of which agent's user: --namespace.")
        places = [scope_named(name, user) for name in namespace or []]
        options: dict[str, Any] = {"policy": policy, "include_embeddings": embeddings, "namespaces": places}
        options |= encryption_option(recipient, plain=plain)
        report = run(self, principal, "backup", options, as_json=as_json)
        part = file.with_name(f"{file.name}.part")
        try:
            with backups.storage.open_file(
                backups.get_backup(principal, uuid.UUID(report["backup_id"])).file
            ) as source:
                with part.open("wb") as target:
                    shutil.copyfileobj(source, target)
                part.replace(file)
            if not report["encrypted"]:
                with access.enter(principal, why="write key"):
                    backups.bundle.write_key(principal, file.with_name(f"{file.name}.key"))
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from error
