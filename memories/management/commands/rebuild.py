"""`manage.py rebuild keywords|embeddings|entities|links|graph|episodes|clusters`."""

import json
from typing import Annotated

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from rich.console import Console
from rich.progress import Progress
from typer import Argument, Option

from memories import access, jobs, operations, upkeep
from memories.management.job_runner import projects_named
from memories.management.operation_commands import project_meant
from memories.models import Namespace, Project
from memories.models.enums import OperationState
from memories.operations import BadOptions


class Command(TyperCommand):
    """Rebuild what is derived."""

    help = "Rebuilds what is derived from the canonical fragments."

    def handle(
        self,
        target: Annotated[str, Argument(help=f"One of: {', '.join(upkeep.reindex.TARGETS)}.")],
        project: Annotated[str, Option(help="Only this project.")] = "",
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Rebuilds here and now, as operations that others can watch; exit code 1 when one did not succeed."""
        projects = projects_named(project_meant(namespace, project))
        try:
            jobs.check_options("rebuild", {"target": target})
        except BadOptions as error:
            raise CommandError(str(error)) from error
        reports = [self._rebuild_one(found, target, namespace) for found in projects]
        if as_json:
            self.stdout.write(json.dumps(reports))
        for report in reports if not as_json else []:
            self.stdout.write(f"{report['project']}: {report['state']}, {report['rebuilt']} rebuilt")
        if any(report["state"] != OperationState.SUCCEEDED for report in reports):
            raise SystemExit(1)

    def _rebuild_one(self, project: Project, target: str, namespace: str) -> dict[str, object]:
        principal = access.system_principal(project)
        with access.enter(principal, why="rebuild"):
            scope = Namespace.objects.within(project.id).filter(name=namespace).first() if namespace else None
            if namespace and scope is None:
                raise CommandError(f"There is no namespace {namespace!r}.")
        operation = operations.start(
            principal, kind="rebuild", namespace=scope, options={"target": target}, dry_run=False, now=timezone.now()
        )
        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task(f"{project.name} {target}", total=None)
            ended = jobs.run(
                principal, operation.id, watcher=lambda _, done, total: bar.update(task, completed=done, total=total)
            )
        operation = ended or operation
        report = operation.report or {}
        return {
            "project": project.name,
            "operation": str(operation.id),
            "state": operation.state,
            "rebuilt": report.get("rebuilt", 0),
        }
