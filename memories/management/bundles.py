"""What the commands about backups share: whose a backup is, a file or an id, running the job."""

import datetime
import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from typer import Option

from memories import access, backups, jobs, namespaces
from memories.access import NotFound, Principal, keys
from memories.backups.inventory import StoredBundle
from memories.errors import NovaError
from memories.management.operation_commands import describe_operation, operation_json, run_with_progress
from memories.models import Backup, Project
from memories.models.enums import OperationState
from memories.operations import BadOptions

REFUSED = (
    *(
        backups.bundle.BrokenBundle,
        backups.restoration.WrongProject,
        backups.restoration.BaseMissing,
        backups.storage.NoSpace,
    ),
    backups.encryption.IdentityMissing,
)
Recipients = Annotated[
    list[str] | None,
    Option("--recipient", help="Encrypt for this public key (age1…, ssh-ed25519 …); may be repeated."),
]
Plain = Annotated[bool, Option("--plain", help="Not encrypted, whatever BACKUP_RECIPIENTS says.")]
Identity = Annotated[Path | None, Option(help="The identity file that opens what is encrypted.")]


def encryption_option(recipients: list[str] | None, *, plain: bool = False) -> dict[str, Any]:
    """Return the option that says whom a file is encrypted for; nothing leaves it to the setting."""
    if recipients and plain:
        raise CommandError("--plain and --recipient do not go together.")
    return {"recipients": recipients or []} if recipients or plain else {}


def owner_of_backup(backup_id: str) -> Principal:
    """The service in the project of a backup. Raises CommandError when there is none of that id."""
    try:
        wanted = uuid.UUID(backup_id)
    except ValueError as error:
        raise CommandError(f"{backup_id!r} is no id.") from error
    for project in Project.objects.order_by("name"):
        principal = access.system_principal(project)
        try:
            backups.get_backup(principal, wanted)
        except NotFound:
            continue
        return principal
    raise CommandError(f"There is no backup {backup_id}.")


@contextmanager
def making_projects() -> Iterator[list[Principal]]:
    """Give a list for projects that are made meanwhile; at the end those go again into which nothing came."""
    made: list[Principal] = []
    try:
        yield made
    finally:
        for principal in made:
            namespaces.take_back_project(principal)


def import_file(
    path: Path, *, made: list[Principal] | None, project: str = "", allow_version: bool = False
) -> tuple[Principal, str]:
    """A file as a backup: who works on it, and its id. Raises CommandError when it is no bundle.

    `project` is for an envelope that does not name its own. A project that is missing is made and put into `made`, if
    there is such a list.
    """
    now = timezone.now()
    try:
        with path.open("rb") as file:
            name = backups.project_of(file, now=now) or project
            file.seek(0)
            if not name:
                raise CommandError(f"{path} does not say of which project it is: use --project.")
            principal = project_for(name, made)
            return principal, str(backups.import_bundle(principal, file, now=now, allow_version=allow_version).id)
    except (OSError, *REFUSED) as error:
        raise CommandError(f"{path}: {error}") from error


def stored_backups(wanted: str, *, made: list[Principal], allow_version: bool = False) -> list[tuple[Principal, str]]:
    """Backups that lie in the storage: of a file there, of a project, or of each one; who works on it, and its id.

    Of a project the newest, with what it goes on from. The projects are made, and put into `made`. Raises CommandError.
    """
    now, stored = timezone.now(), backups.inventory.stored_bundles()
    asked = [one for one in stored if wanted in ("", one.project, one.file)]
    if not asked:
        raise CommandError(f"The storage of the backups holds nothing{f' of {wanted!r}' if wanted else ''}.")
    try:
        chosen = backups.inventory.newest_of_each(asked, now=now)
        return [_stored_backup(one, stored, now=now, made=made, allow_version=allow_version) for one in chosen]
    except REFUSED as error:
        raise CommandError(str(error)) from error


def _stored_backup(
    bundle: StoredBundle,
    stored: Sequence[StoredBundle],
    *,
    now: datetime.datetime,
    made: list[Principal],
    allow_version: bool,
) -> tuple[Principal, str]:
    principal = project_for(bundle.project, made)
    rows = [
        backups.known_as(principal, each.file) or _taken_in(principal, each, now=now, allow_version=allow_version)
        for each in backups.inventory.chain_of(bundle, stored, now=now)
    ]
    return principal, str(rows[-1].id)


def _taken_in(principal: Principal, found: StoredBundle, *, now: datetime.datetime, allow_version: bool) -> Backup:
    with backups.storage.open_file(found.file) as file:
        return backups.import_bundle(principal, file, now=now, allow_version=allow_version, found=found)


def project_for(name: str, made: list[Principal] | None) -> Principal:
    """Return who works in a project; one that is missing is made and put into `made`. Raise CommandError."""
    found = Project.objects.filter(name=name).first()
    if found is None and made is None:
        raise CommandError(f"There is no project {name!r}.")
    try:
        principal = access.system_principal(found or keys.ensure_project(name))
    except keys.BadGrant as error:
        raise CommandError(str(error)) from error
    if found is None and made is not None:
        made.append(principal)
    return principal


def run(
    command: TyperCommand,
    principal: Principal,
    kind: str,
    options: dict[str, Any],
    *,
    dry_run: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> dict[str, Any]:
    """Runs a job here and now, with progress, and tells of it; its report. Exit code 1 when it failed.

    With `quiet` only a failure is told of.
    """
    try:
        operation = jobs.start(
            principal, kind=kind, namespace=None, options=options, dry_run=dry_run, now=timezone.now(), wake_up=False
        )
    except BadOptions as error:
        raise CommandError(f"{error.field}: {error}") from error
    except NovaError as error:
        raise CommandError(str(error)) from error
    ended = run_with_progress(principal, operation, kind)
    if not quiet or ended.state != OperationState.SUCCEEDED:
        command.stdout.write(json.dumps(operation_json(ended)) if as_json else describe_operation(ended))
    if ended.state != OperationState.SUCCEEDED:
        raise SystemExit(1)
    return ended.report or {}
