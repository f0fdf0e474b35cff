"""`manage.py verify BACKUP|FILE`."""

import contextlib
import uuid
from pathlib import Path
from typing import Annotated

from django_typer.management import TyperCommand
from typer import Argument, Option

from memories import backups
from memories.management.bundles import Identity, import_file, owner_of_backup, run


class Command(TyperCommand):
    """Verify."""

    help = "Reads a backup, or a bundle in a file, to its end: checksums, signature, counts, order, every record."

    def handle(
        self,
        bundle: Annotated[str, Argument(help="A backup's id, or a file.")],
        identity: Identity = None,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Exit code 1 when something is wrong."""
        which = ""
        with contextlib.suppress(ValueError):
            which = str(uuid.UUID(bundle))
        with backups.encryption.identity(identity):
            principal, which = (owner_of_backup(which), which) if which else import_file(Path(bundle), made=None)
            run(self, principal, "verify", {"backup_id": which}, as_json=as_json)
