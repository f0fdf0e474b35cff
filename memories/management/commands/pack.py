"""`manage.py pack write|search|import`."""

import json
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from memories import backups, jobs, packs
from memories.access import NotFound, Principal
from memories.management.bundles import (
    Identity,
    Plain,
    Recipients,
    encryption_option,
    making_projects,
    project_for,
)
from memories.management.operation_commands import OfUser, describe_operation, namespace_named, run_with_progress
from memories.models import Operation
from memories.models.enums import OperationState
from memories.models.namespace import BadUser
from memories.operations import BadOptions

File = Annotated[Path, Argument(help="The pack: an SQLite file.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
REFUSED = (
    *(
        packs.BadPack,
        backups.bundle.BrokenBundle,
        backups.restoration.WrongProject,
        backups.restoration.BaseMissing,
        backups.storage.NoSpace,
    ),
    *(backups.encryption.IdentityMissing, NotFound),
)
LINE = 100


class Command(TyperCommand):
    """A namespace as one file that can be searched offline."""

    help = "Packs: write a namespace into one SQLite file, search it offline, import it."

    @command()
    def write(
        self,
        namespace: Annotated[str, Argument(help="The namespace: project:agent.")],
        file: File,
        user: OfUser = "",
        recipient: Recipients = None,
        plain: Plain = False,
        as_json: Json = False,
    ) -> None:
        """Writes all that a namespace holds, or a user's scope in it, into a file, with progress."""
        if file.is_dir() or not file.parent.is_dir():
            raise CommandError(f"{file} can't be written: name a file in a directory that is there.")
        principal, place = namespace_named(namespace, user)
        made: dict[str, Any] = {"kind": "pack", "namespace": place, "now": timezone.now()}
        made["options"] = encryption_option(recipient, plain=plain)
        try:
            started = jobs.start(principal, **made, wake_up=False)
        except BadOptions as error:
            raise CommandError(f"{error.field}: {error}") from error
        operation = run_with_progress(principal, started, namespace)
        if operation.state != OperationState.SUCCEEDED:
            raise CommandError(f"The pack was not written: {(operation.error or {}).get('code')}.")
        try:
            with packs.stored(principal, operation) as stored, file.open("wb") as copy:
                while chunk := stored.read(1 << 20):
                    copy.write(chunk)
        except backups.storage.FileMissing as error:
            raise CommandError("Something was forgotten while the pack was written: write it anew.") from error
        except OSError as error:
            raise CommandError(f"{file} can't be written: {error.strerror}.") from error
        backups.storage.remove(packs.name_of(operation))
        output = {**(operation.report or {}), "file": str(file)}
        self.stdout.write(json.dumps(output) if as_json else describe_operation(operation))

    @command()
    def search(
        self,
        file: File,
        query: Annotated[str, Argument(help="A question, in plain words.")],
        user: OfUser = "",
        identity: Identity = None,
        limit: Annotated[int, Option(min=1, max=100, help="At most this many.")] = 10,
        as_json: Json = False,
    ) -> None:
        """The memories of a pack that answer a question, of users only the named one's; without server or database."""
        try:
            with backups.encryption.identity(identity):
                found = packs.search(file, query, user=user, limit=limit)
        except (*REFUSED, BadUser) as error:
            raise CommandError(str(error)) from error
        if as_json:
            self.stdout.write(json.dumps([asdict(hit) for hit in found]))
            return
        table = Table("score", "words", "meaning", "since", "memory")
        for hit in found:
            numbers = (f"{number:.2f}" for number in (hit.score, hit.words, hit.meaning))
            table.add_row(*numbers, hit.created_at[:10], hit.content[:LINE])
        Console().print(table)

    @command(name="import")
    def import_(
        self,
        file: File,
        dry_run: Annotated[bool, Option("--dry-run", help="Only plan.")] = False,
        trust_signer: Annotated[str, Option(help="The fingerprint of another machine's key.")] = "",
        identity: Identity = None,
        as_json: Json = False,
    ) -> None:
        """Restores what a pack holds, as from a backup, into the project that it names."""
        with making_projects() as made:
            ended = self._restored(file, made, trust_signer=trust_signer, dry_run=dry_run, identity=identity)
        output = {"operation": str(ended.id), "state": ended.state, "error": ended.error, **(ended.report or {})}
        self.stdout.write(json.dumps(output) if as_json else describe_operation(ended))
        if ended.state != OperationState.SUCCEEDED:
            raise SystemExit(1)

    def _restored(
        self, file: Path, made: list[Principal], *, trust_signer: str, dry_run: bool, identity: Path | None
    ) -> Operation:
        try:
            with backups.encryption.identity(identity):
                principal = project_for(packs.project_of(file), made)
                taken = packs.import_pack(principal, file, now=timezone.now())
        except REFUSED as error:
            raise CommandError(str(error)) from error
        options = {"backup_id": str(taken.id), **({"trust_signer": trust_signer} if trust_signer else {})}
        arguments: dict[str, Any] = {"kind": "restore", "namespace": None, "options": options, "dry_run": dry_run}
        try:
            operation = jobs.start(principal, **arguments, now=timezone.now(), wake_up=False)
            return run_with_progress(principal, operation, "import")
        except BadOptions as error:
            raise CommandError(str(error)) from error
        finally:
            backups.delete(principal, uuid.UUID(str(taken.id)))
