"""What commands about long jobs share: finding one, running it with a progress bar, telling of it."""

import io
import json
import uuid
from typing import Annotated, Any

from django.core.management import CommandError
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from typer import Option

from memories import access, jobs, upkeep
from memories.access import Principal
from memories.models import Namespace, Operation, Project
from memories.models.namespace import BadUser, parts_of, scope_name, user_of

# What each command takes that is about one namespace.
OfUser = Annotated[str, Option("--user", help="Of this user of the namespace: the person behind the agent.")]
AcceptLoss = Annotated[bool, Option("--accept-recall-loss", help="Although recall checks would fail afterwards.")]


def scope_named(name: str, user: str = "") -> str:
    """Return a namespace, or with a user that user's scope in it, as it is written. Raise CommandError."""
    try:
        root, named = parts_of(name)
        if user and named is not None:
            raise BadUser("it names a user already")
        return scope_name(root, user_of(user) if user else named)
    except BadUser as error:
        raise CommandError(f"{name!r} is no namespace: {error}") from error


def owner_of(operation_id: str) -> Principal:
    """The service in the project of an operation. Raises CommandError when there is none of that id."""
    try:
        wanted = uuid.UUID(operation_id)
    except ValueError as error:
        raise CommandError(f"{operation_id!r} is no id.") from error
    for project in Project.objects.order_by("name"):
        principal = access.system_principal(project)
        with access.enter(principal, why="look"):
            if Operation.objects.within(project.id).filter(id=wanted).exists():
                return principal
    raise CommandError(f"There is no operation {operation_id}.")


def namespace_named(name: str, user: str = "") -> tuple[Principal, Namespace]:
    """A namespace or a user's scope, with the operator in its project. Raises CommandError when there is none."""
    name = scope_named(name, user)
    project = Project.objects.filter(name=name.partition(":")[0]).first()
    if project is not None:
        principal = access.system_principal(project)
        with access.enter(principal, why="look"):
            namespace = Namespace.objects.within(project.id).named([name]).first()
        if namespace is not None:
            return principal, namespace
    raise CommandError(f"There is no namespace {name!r}.")


def project_meant(namespace: str, project: str) -> str:
    """Return which project a command is about, empty for all. Raise CommandError for another one's namespace."""
    named = namespace.partition(":")[0]
    if named and project and named != project:
        raise CommandError(f"The namespace {namespace!r} is not of the project {project!r}.")
    return named or project


def requested_namespaces(namespace: str, project: str, user: str = "") -> list[tuple[Principal, Namespace]]:
    """The namespaces meant, each with who works on it. Raises CommandError when there is none of that name."""
    if user and not namespace:
        raise CommandError("A user is one of a namespace: give --namespace too.")
    namespace = scope_named(namespace, user) if namespace else ""
    name = project_meant(namespace, project)
    projects = Project.objects.filter(name=name) if name else Project.objects.order_by("name")
    found = []
    for row in projects:
        principal = access.system_principal(row)
        with access.enter(principal, why="look"):
            rows = Namespace.objects.within(row.id).order_by("name")
            found += [(principal, place) for place in (rows.named([namespace]) if namespace else rows)]
    if (namespace or project) and not found:
        raise CommandError(f"There is no {'namespace' if namespace else 'project'} {namespace or project!r}.")
    return found


def run_with_progress(principal: Principal, operation: Operation, name: str) -> Operation:
    """Runs it here, with a progress bar; the operation at its end."""
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(name, total=None)

        def show(stage: str, done: int, total: int | None) -> None:
            bar.update(task, description=f"{name} {stage}", completed=done, total=total)

        jobs.run(principal, operation.id, watcher=show)
    return get_operation(principal, operation.id)


def get_operation(principal: Principal, operation_id: uuid.UUID) -> Operation:
    """An operation as it is now, its namespace at hand."""
    with access.enter(principal, why="look"):
        rows = Operation.objects.within(principal.project_id).select_related("namespace")
        row: Operation = rows.get(id=operation_id)
        return row


def operation_json(operation: Operation) -> dict[str, Any]:
    """An operation as JSON."""
    return {
        "id": str(operation.id),
        "kind": operation.kind,
        "namespace": operation.namespace.name if operation.namespace else None,
        "dry_run": operation.dry_run,
        "state": operation.state,
        "stage": operation.stage,
        "done": operation.done,
        "total": operation.total,
        "report": operation.report,
        "error": operation.error,
        "created_at": operation.created_at.isoformat(),
    }


def describe_operation(operation: Operation) -> str:
    """An operation with its report, for people: a table, a line for each number."""
    report = operation.report or {}
    about = {
        name: value for name, value in operation_json(operation).items() if name != "report" and value not in (None, "")
    }
    of_consolidation = operation.kind in ("consolidate", jobs.UNDO)
    table = Table(show_header=False)
    for name, value in about.items():
        table.add_row(name, _plain(value))
    table.add_section()
    for name, value in upkeep.consolidation.report_lines(report) if of_consolidation else report.items():
        table.add_row(name, _plain(value))
    return format_table(table)


def _plain(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else str(value)


def format_table(table: Table) -> str:
    """A table as text."""
    text = io.StringIO()
    Console(file=text, width=140).print(table)
    return text.getvalue()
