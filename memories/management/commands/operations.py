"""`manage.py operations list|show|cancel|undo`."""

import json
import uuid
from typing import Annotated

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.table import Table
from typer import Argument, Option

from memories import access, jobs, operations, run_changes
from memories.management.job_runner import projects_named
from memories.management.operation_commands import (
    describe_operation,
    format_table,
    get_operation,
    operation_json,
    owner_of,
    run_with_progress,
)
from memories.models import Operation
from memories.models.enums import OperationState

Id = Annotated[str, Argument(help="The operation's id.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


class Command(TyperCommand):
    """Long jobs."""

    help = "Long jobs: list them, look at one, cancel one, take one back."

    @command(name="list")
    def list_(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        state: Annotated[str, Option(help=f"One of: {', '.join(OperationState.values)}.")] = "",
        limit: Annotated[int, Option(help="How many of each project.", min=1, max=1000)] = 20,
        as_json: Json = False,
    ) -> None:
        """The newest operations."""
        if state and state not in OperationState.values:
            raise CommandError(f"Use one of: {', '.join(OperationState.values)}.")
        rows: list[Operation] = []
        for place in projects_named(project):
            with access.enter(access.system_principal(place), why="list"):
                newest = Operation.objects.within(place.id).select_related("namespace").order_by("-created_at", "-id")
                rows += (newest.filter(state=state) if state else newest)[:limit]
        if as_json:
            self.stdout.write(json.dumps([operation_json(row) for row in rows]))
            return
        table = Table("id", "kind", "namespace", "state", "stage", "progress", "begun")
        for row in rows:
            where = row.namespace.name if row.namespace else ""
            progress = f"{row.done}/{row.total}" if row.total else ""
            table.add_row(
                str(row.id), row.kind, where, row.state, row.stage, progress, f"{row.created_at:%Y-%m-%d %H:%M}"
            )
        self.stdout.write(format_table(table))

    @command()
    def show(self, operation_id: Id, as_json: Json = False) -> None:
        """One operation with its report."""
        principal = owner_of(operation_id)
        self._print_operation(get_operation(principal, uuid.UUID(operation_id)), as_json=as_json)

    @command()
    def cancel(self, operation_id: Id, as_json: Json = False) -> None:
        """Ends a queued operation, asks a running one to end."""
        principal = owner_of(operation_id)
        try:
            operations.cancel(principal, uuid.UUID(operation_id), now=timezone.now())
        except operations.NotOpen as error:
            raise CommandError(str(error)) from error
        self.show(operation_id, as_json=as_json)

    @command()
    def undo(self, operation_id: Id, as_json: Json = False) -> None:
        """Takes an operation back, here and now; exit code 1 when that can't be."""
        principal = owner_of(operation_id)
        try:
            made = jobs.start_undo(principal, uuid.UUID(operation_id), now=timezone.now(), wake_up=False)
        except (jobs.NotUndoable, run_changes.CannotUndoRun) as error:
            raise CommandError(str(error)) from error
        ended = run_with_progress(principal, made, "undo")
        self._print_operation(ended, as_json=as_json)
        if ended.state != OperationState.SUCCEEDED:
            raise SystemExit(1)

    def _print_operation(self, row: Operation, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(operation_json(row)))
            return
        self.stdout.write(describe_operation(row))
