"""`manage.py users list|export|erase`."""

import json
import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer
from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rest_framework.utils.encoders import JSONEncoder
from rich.table import Table
from typer import Argument, Option

from memories import access, erasure
from memories.access import NotFound, Principal, users
from memories.erasure import CountDiffers
from memories.management.job_runner import projects_named
from memories.management.operation_commands import format_table
from memories.models.enums import SourceClass
from memories.models.namespace import FORM, BadUser
from memories.rest.users import exported

User = Annotated[str, Argument(help="The user, as it is.")]
Place = Annotated[str, Option("--namespace", help="Behind this agent: project:agent.")]
Whole = Annotated[str, Option("--project", help="Behind all agents of this project.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


class Command(TyperCommand):
    """The people behind agents."""

    help = "Users: who they are, all that is kept of one, and erasing it."

    @command()
    def list(
        self,
        namespace: Place = "",
        project: Whole = "",
        limit: Annotated[int, Option(min=1, help="At most this many.")] = 1000,
        as_json: Json = False,
    ) -> None:
        """The users, by name, and how many memories are kept of each."""
        principal = _operator(namespace, project)
        try:
            rows = users.known_users(principal, namespace or None, limit=limit)
        except NotFound as error:
            raise CommandError(f"There is no {error}.") from error
        if as_json:
            self.stdout.write(json.dumps([asdict(row) for row in rows], cls=JSONEncoder))
            return
        table = Table("user", "memories", "since", "namespaces")
        for row in rows:
            table.add_row(row.user, str(row.memories), row.since.date().isoformat(), ", ".join(row.namespaces))
        self.stdout.write(format_table(table))

    @command()
    def export(self, user: User, namespace: Place = "", project: Whole = "") -> None:
        """All that is kept of a user, in every status, as JSON; exit code 1 when there is none."""
        principal = _operator(namespace, project)
        try:
            output = exported(principal, user, namespace or None, now=timezone.now())
        except (NotFound, BadUser) as error:
            raise CommandError(f"There is no user {user!r}.") from error
        self.stdout.write(json.dumps(output, cls=JSONEncoder))

    @command()
    def erase(
        self,
        user: User,
        namespace: Place = "",
        project: Whole = "",
        expect: Annotated[int | None, Option(help="So many memories; another count erases nothing.", min=0)] = None,
        purge_backups: Annotated[bool, Option("--purge-backups", help="Delete backups that hold any of it.")] = False,
        dry_run: Annotated[bool, Option("--dry-run", help="Only count.")] = False,
        yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
        as_json: Json = False,
    ) -> None:
        """Erases all that is kept of a user, every copy; asks for the count at a terminal."""
        options: dict[str, Any] = {"purge_backups": purge_backups, "now": timezone.now()}
        principal = _operator(namespace, project)
        try:
            done = erasure.erase_user(principal, user, namespace or None, expected=None, dry_run=True, **options)
            if not dry_run:
                expected = done.count if yes and expect is None else expect
                if expected is None:
                    expected = _typed(user, done.count)
                done = erasure.erase_user(principal, user, namespace or None, expected=expected, **options)
        except (NotFound, BadUser) as error:
            raise CommandError(f"There is no user {user!r}.") from error
        except CountDiffers as error:
            raise CommandError(f"{error.count} memories are kept of {user!r}; nothing was erased.") from error
        output = {**asdict(done), "dry_run": dry_run}
        words = f"{done.count} memories of {user!r} {'would be' if dry_run else 'are'} erased."
        self.stdout.write(json.dumps(output, cls=JSONEncoder) if as_json else words)


def _operator(namespace: str, project: str) -> Principal:
    """The operator in the project meant, as believable as a person. Raises CommandError."""
    if bool(namespace) == bool(project):
        raise CommandError("Give --namespace or --project.")
    if namespace and not FORM.fullmatch(namespace):
        raise CommandError(f"{namespace!r} is no namespace: use project:agent.")
    (found,) = projects_named(namespace.partition(":")[0] or project)
    return access.system_principal(found, ceiling=SourceClass.USER_EXPLICIT)


def _typed(user: str, count: int) -> int:
    """How many memories whoever sits at the terminal agrees to."""
    if not sys.stdin.isatty():
        raise CommandError("Say how many memories these are (--expect), or --yes.")
    typed: int = typer.prompt(f"{count} memories of {user!r} go for good. Type how many", type=int)
    return typed
