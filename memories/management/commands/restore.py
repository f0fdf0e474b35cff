"""`manage.py restore BACKUP|FILE`."""

import contextlib
import datetime
import uuid
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django_typer.management import TyperCommand
from typer import Argument, Option

from memories import backups
from memories.access import Principal
from memories.management.bundles import Identity, import_file, making_projects, owner_of_backup, run, stored_backups
from memories.management.operation_commands import AcceptLoss
from memories.operations import ACCEPT

KEY_NEEDED = (
    "{} fingerprints of forgotten texts are left out: they are keyed, and the key is not here. What was forgotten, and "
    "values that were ruled out, may be said again. On the old machine `backup key FILE --project P` writes the key "
    "file; give it with --key FILE when you restore into a project that holds nothing yet."
)


def searchable(waiting: int, seconds: float | None) -> str:
    """Return when what was restored is found by what it means."""
    takes = "" if seconds is None else f", about {datetime.timedelta(seconds=round(seconds))} where a worker runs"
    return f"Searchable by words now; by meaning once {waiting:,} memories have their vectors{takes}."


class Command(TyperCommand):
    """Restore."""

    help = "Restores a backup: what is newer, under its own id, in its own time; with --dry-run only plans."

    def handle(
        self,
        bundle: Annotated[
            str, Argument(help="A backup's id or a file; with --from-storage a file there or a project, else each.")
        ] = "",
        from_storage: Annotated[
            bool, Option("--from-storage", help="What the storage of the backups holds, on a machine that knows none.")
        ] = False,
        dry_run: Annotated[bool, Option("--dry-run", help="Only plan.")] = False,
        trust_signer: Annotated[str, Option(help="Believe the signer with this fingerprint.")] = "",
        allow_version: Annotated[bool, Option("--allow-version", help="Although its version is not known.")] = False,
        accept_recall_loss: AcceptLoss = False,
        into: Annotated[str, Option(help="A new namespace, beside what lives: project:branch.")] = "",
        namespace: Annotated[str, Option(help="Which namespace of the backup goes there.")] = "",
        project: Annotated[str, Option(help="Of an envelope that does not say.")] = "",
        identity: Identity = None,
        key: Annotated[Path | None, Option(help="The project's key file, on a new machine.")] = None,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Here and now, as an operation that others can watch; the project of a file is made for what comes."""
        if not bundle and not from_storage:
            raise CommandError("Say what is restored: a backup's id, a file, or --from-storage.")
        options: dict[str, Any] = {"trust_signer": trust_signer} if trust_signer else {}
        options |= {"allow_version": True} if allow_version else {}
        options |= {ACCEPT: True} if accept_recall_loss else {}
        options |= {name: value for name, value in (("into", into), ("namespace", namespace)) if value}
        with backups.encryption.identity(identity), making_projects() as made:
            if from_storage:
                found = stored_backups(bundle, made=made, allow_version=allow_version)
            else:
                found = [_named(bundle, made=made, project=project, allow_version=allow_version)]
            if key and len(found) > 1:
                raise CommandError("A key file is one project's: restore one at a time.")
            for principal, which in found:
                if key:
                    _import_key(principal, key)
                report = run(
                    self, principal, "restore", {"backup_id": which, **options}, dry_run=dry_run, as_json=as_json
                )
                if report.get("key_file_needed"):
                    self.stderr.write(KEY_NEEDED.format(report["left_out"].get("erasure", 0)))
                if waiting := report.get("waiting_for_vectors"):
                    self.stderr.write(searchable(waiting, report["searchable_in_seconds"]))


def _named(bundle: str, *, made: list[Principal], project: str, allow_version: bool) -> tuple[Principal, str]:
    """Return who works on a backup, and its id, by that or by a file."""
    with contextlib.suppress(ValueError):
        which = str(uuid.UUID(bundle))
        return owner_of_backup(which), which
    return import_file(Path(bundle), made=made, project=project, allow_version=allow_version)


def _import_key(principal: Principal, key: Path) -> None:
    try:
        backups.bundle.import_key(principal, key)
    except (backups.bundle.BadKeyFile, OSError) as error:
        raise CommandError(str(error)) from error
