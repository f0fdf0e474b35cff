"""`manage.py consolidate`."""

import json
import uuid
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from rich.table import Table
from typer import Option

from memories import jobs, run_changes, upkeep
from memories.access import NotFound, Principal
from memories.management.operation_commands import (
    AcceptLoss,
    OfUser,
    describe_operation,
    format_table,
    operation_json,
    owner_of,
    requested_namespaces,
    run_with_progress,
)
from memories.models import Namespace, Operation
from memories.models.enums import OperationState
from memories.operations import ACCEPT, BadOptions


class Command(TyperCommand):
    """Consolidate namespaces."""

    help = "Merges, settles, digests and archives what a namespace holds; with --dry-run only says what it would do."

    def handle(
        self,
        namespace: Annotated[str, Option(help="Only this namespace (project:agent).")] = "",
        user: OfUser = "",
        project: Annotated[str, Option(help="Only this project.")] = "",
        dry_run: Annotated[bool, Option("--dry-run", help="Only plan.")] = False,
        plan: Annotated[str, Option(help="Apply this plan (an operation's id).")] = "",
        confirm: Annotated[bool, Option("--confirm", help="Although the plan changes much.")] = False,
        accept_recall_loss: AcceptLoss = False,
        undo: Annotated[str, Option(help="Take this run back (an operation's id).")] = "",
        report: Annotated[bool, Option("--report", help="Print each run's report, line by line.")] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Here and now, as operations that others can watch; exit code 1 when one did not succeed."""
        if undo:
            ended = [self._undo(undo)]
        else:
            options = {"plan_id": plan or None, "confirm": confirm or None, ACCEPT: accept_recall_loss or None}
            given = {name: value for name, value in options.items() if value is not None}
            ended = [
                self._run(principal, place, given, dry_run)
                for principal, place in requested_namespaces(namespace, project, user)
            ]
        if as_json:
            self.stdout.write(json.dumps([operation_json(operation) for operation in ended]))
        else:
            self.stdout.write(
                "".join(describe_operation(each) for each in ended) if report else format_table(table(ended))
            )
        if any(operation.state != OperationState.SUCCEEDED for operation in ended):
            raise SystemExit(1)

    def _run(self, principal: Principal, namespace: Namespace, options: dict[str, Any], dry_run: bool) -> Operation:
        arguments: dict[str, Any] = {
            "kind": "consolidate",
            "namespace": namespace,
            "options": options,
            "dry_run": dry_run,
        }
        try:
            operation = jobs.start(principal, **arguments, now=timezone.now(), wake_up=False)
        except (BadOptions, jobs.AlreadyRunning, upkeep.consolidation.NoPlan, upkeep.consolidation.PlanUsed) as error:
            raise CommandError(str(error)) from error
        return run_with_progress(principal, operation, namespace.name)

    def _undo(self, operation_id: str) -> Operation:
        principal = owner_of(operation_id)
        try:
            operation = jobs.start_undo(principal, uuid.UUID(operation_id), now=timezone.now(), wake_up=False)
        except (NotFound, jobs.NotUndoable, run_changes.CannotUndoRun) as error:
            raise CommandError(str(error)) from error
        return run_with_progress(principal, operation, "undo")


def table(ended: list[Operation]) -> Table:
    """The runs with their numbers."""
    found = Table("namespace", "state", "merged", "settled", "waiting", "voices", "digests", "cold", "archived", "id")
    for operation in ended:
        report = operation.report or {}
        claims, digests = report.get("contradictions", {}), report.get("compressed", {})
        numbers = [
            report.get("merged"),
            claims.get("resolved"),
            claims.get("pending"),
            report.get("corroborated"),
            digests.get("clusters"),
            report.get("decayed"),
            report.get("archived"),
        ]
        error = f" ({operation.error['code']})" if operation.error else ""
        namespace = operation.namespace.name if operation.namespace else ""
        shown = ["" if number is None else str(number) for number in numbers]
        found.add_row(namespace, f"{operation.state}{error}", *shown, str(operation.id))
    return found
