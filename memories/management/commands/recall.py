"""`manage.py recall list|run|import|export|delete`."""

import json
import sys
import uuid
from pathlib import Path
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.table import Table
from typer import Argument, Option

from memories import access, jobs, recall_checks
from memories.access import NotFound, Principal
from memories.errors import NovaError
from memories.management.job_runner import projects_named
from memories.management.operation_commands import OfUser, format_table, namespace_named, run_with_progress
from memories.models import Namespace, RecallCheck
from memories.models.enums import OperationState
from memories.rest.recall_checks import RecallCheckAnswer

Place = Annotated[str, Option("--namespace", help="Only this namespace (project:agent).")]
Whole = Annotated[str, Option("--project", help="Of this project.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]
STATES = {True: "passed", False: "failed", None: "never run"}


class Command(TyperCommand):
    """Recall checks."""

    help = "Recall checks: what a project's memory has to answer; running them, and their YAML file."

    @command(name="list")
    def list_(self, namespace: Place = "", user: OfUser = "", project: Whole = "", as_json: Json = False) -> None:
        """The checks, by namespace and name, each with how its last run went."""
        principal, place = _place(namespace, user, project)
        rows = _checks(principal, place)
        if as_json:
            self.stdout.write(json.dumps(_told(rows)))
            return
        self.stdout.write(format_table(_table(rows)))

    @command()
    def run(self, namespace: Place = "", user: OfUser = "", project: Whole = "", as_json: Json = False) -> None:
        """Asks them here and now, with progress; exit code 1 when one fails."""
        principal, place = _place(namespace, user, project)
        options: dict[str, Any] = {"kind": "recall", "namespace": place, "options": {}}
        ended = run_with_progress(
            principal,
            jobs.start(principal, **options, now=timezone.now(), wake_up=False),
            place.name if place else "all",
        )
        report, rows = ended.report or {}, _checks(principal, place)
        if as_json:
            self.stdout.write(json.dumps({"state": ended.state, **report, "checks": _told(rows)}))
        else:
            self.stdout.write(format_table(_table(rows)))
            self.stdout.write(f"{report.get('passed', 0)} of {report.get('checked', 0)} pass")
        if ended.state != OperationState.SUCCEEDED or report["failed"]:
            raise SystemExit(1)

    @command(name="import")
    def import_(
        self,
        file: Annotated[Path, Argument(help="The YAML file; - for standard input.")],
        project: Annotated[str, Option(help="Whose checks these are.")],
        as_json: Json = False,
    ) -> None:
        """Keeps all checks of a YAML file, or none; a fault is told with its line."""
        (found,) = projects_named(project)
        try:
            text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
            kept = recall_checks.keep(access.system_principal(found), recall_checks.read_file(text), now=timezone.now())
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} can't be read: {error}") from error
        except NotFound as error:
            raise CommandError(f"There is no {error} in {project}.") from error
        except NovaError as error:
            raise CommandError(f"{file}: {error}") from error
        replaced = sum(replaced for _, replaced in kept)
        output = {"added": len(kept) - replaced, "replaced": replaced}
        self.stdout.write(json.dumps(output) if as_json else "{added} added, {replaced} replaced".format(**output))

    @command()
    def export(
        self,
        namespace: Place = "",
        user: OfUser = "",
        project: Whole = "",
        file: Annotated[Path | None, Option("--file", help="Write it there instead of printing it.")] = None,
    ) -> None:
        """Prints all checks as a YAML file."""
        text = recall_checks.written_file(_checks(*_place(namespace, user, project)))
        if file is None:
            self.stdout.write(text)
        else:
            file.write_text(text, encoding="utf-8")

    @command()
    def delete(
        self,
        check: Annotated[str, Argument(help="The id of a check.")],
        project: Annotated[str, Option(help="Whose check it is.")],
        as_json: Json = False,
    ) -> None:
        """Deletes a check."""
        (found,) = projects_named(project)
        try:
            row = recall_checks.remove(access.system_principal(found), uuid.UUID(check))
        except (ValueError, NotFound) as error:
            raise CommandError(f"There is no recall check {check}.") from error
        told = f"{row.name} is deleted"
        self.stdout.write(json.dumps({"id": check, "name": row.name, "deleted": True}) if as_json else told)


def _place(namespace: str, user: str, project: str) -> tuple[Principal, Namespace | None]:
    if bool(namespace) == bool(project):
        raise CommandError("Give --namespace or --project.")
    if namespace:
        return namespace_named(namespace, user)
    (found,) = projects_named(project)
    return access.system_principal(found), None


def _checks(principal: Principal, namespace: Namespace | None) -> list[RecallCheck]:
    with access.enter(principal, why="list"):
        return list(recall_checks.checks_of(principal, namespace.name if namespace else None).in_order())


def _told(rows: list[RecallCheck]) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(dict(RecallCheckAnswer(row).data), default=str)) for row in rows]


def _table(rows: list[RecallCheck]) -> Table:
    found = Table("namespace", "check", "expects", "last run", "place")
    for row in rows:
        place = "" if row.place is None else f"{row.place} of {row.top_k}"
        found.add_row(row.namespace.name, row.name, f"{row.expects} {row.wanted}", STATES[row.passed], place)
    return found
