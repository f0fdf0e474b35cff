"""Running a job at the command line: here and now, with a progress bar, as an operation that others can watch."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.core.management import CommandError
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from memories import access, jobs, operations
from memories.management.operation_commands import project_meant, scope_named
from memories.models import Namespace, Project
from memories.models.enums import OperationState
from memories.operations import BadOptions


def projects_named(name: str) -> list[Project]:
    """The project of this name, all without one. Raises CommandError when there is none."""
    found = list(Project.objects.filter(name=name) if name else Project.objects.order_by("name"))
    if name and not found:
        raise CommandError(f"There is no project {name!r}.")
    return found


def run_here(
    kind: str, *, options: dict[str, Any], project: str = "", namespace: str = "", dry_run: bool = False
) -> list[dict[str, Any]]:
    """Runs a job in one project or in each; `project`, `operation`, `state` and the report of each.

    Raises CommandError.
    """
    found = projects_named(project_meant(namespace, project))
    try:
        jobs.check_options(kind, options, dry_run=dry_run)
    except BadOptions as error:
        raise CommandError(str(error)) from error
    return [_run_one(each, kind, options, namespace, dry_run) for each in found]


def _run_one(project: Project, kind: str, options: dict[str, Any], namespace: str, dry_run: bool) -> dict[str, Any]:
    principal = access.system_principal(project)
    with access.enter(principal, why=kind):
        scope = Namespace.objects.within(project.id).named([scope_named(namespace)]).first() if namespace else None
        if namespace and scope is None:
            raise CommandError(f"There is no namespace {namespace!r}.")
    operation = operations.start(
        principal, kind=kind, namespace=scope, options=options, dry_run=dry_run, now=timezone.now()
    )
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{project.name} {kind}", total=None)
        ended = jobs.run(
            principal, operation.id, watcher=lambda _, done, total: bar.update(task, completed=done, total=total)
        )
    operation = ended or operation
    output = {"project": project.name, "operation": str(operation.id), "state": operation.state}
    return {**output, **(operation.report or {}), **({"error": operation.error} if operation.error else {})}


def print_reports(reports: Sequence[dict[str, Any]], *, columns: Iterable[str], as_json: bool) -> None:
    """Prints the reports as JSON or as a table of some columns; exit code 1 when one did not succeed."""
    names, console = ["project", "state", *columns], Console()
    if as_json:
        console.out(json.dumps(list(reports)), highlight=False)
    else:
        table = Table(*names)
        for report in reports:
            table.add_row(*(str(report.get(name, "")) for name in names))
        console.print(table)
    if any(report["state"] != OperationState.SUCCEEDED for report in reports):
        raise SystemExit(1)
