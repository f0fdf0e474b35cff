"""`manage.py namespaces list|set|fork|merge|rollback|delete`."""

import json
import sys
from typing import Annotated, Any

import typer
from django.core.management import CommandError
from django.db.models import Count
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from conflicts.history import HistoryLetGo
from memories import access, jobs, namespaces
from memories.access import NotFound, Principal
from memories.errors import BranchTaken
from memories.management.job_runner import projects_named
from memories.management.operation_commands import AcceptLoss, describe_operation, namespace_named, run_with_progress
from memories.models import Fragment, Namespace, Operation
from memories.models.enums import ArchivePolicy, OperationState
from memories.operations import ACCEPT, BadOptions

Name = Annotated[str, Argument(help="The namespace: project:agent.")]
Target = Annotated[str, Argument(help="The other namespace: project:agent.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


class Command(TyperCommand):
    """Namespaces and their branches."""

    help = "Namespaces: list, set, fork, merge, rollback, delete."

    @command(name="list")
    def list_(self, project: Annotated[str, Option(help="Only this project.")] = "", as_json: Json = False) -> None:
        """Every namespace, what it was forked from, and how many memories it holds."""
        rows: list[dict[str, Any]] = []
        for place in projects_named(project):
            with access.enter(access.system_principal(place), why="list"):
                found = Namespace.objects.within(place.id).select_related("forked_from").order_by("name")
                counts = Fragment.objects.within(place.id).order_by().values_list("namespace_id")
                held = dict(counts.annotate(n=Count("id")))
                rows += [
                    {
                        "name": row.name,
                        "forked_from": row.forked_from and row.forked_from.name,
                        "memories": held.get(row.id, 0),
                        "created_at": row.created_at.isoformat(),
                    }
                    for row in found
                ]
        if as_json:
            self.stdout.write(json.dumps(rows))
            return
        table = Table("namespace", "forked from", "memories", "since")
        for row in rows:
            table.add_row(row["name"], row["forked_from"] or "", str(row["memories"]), row["created_at"][:10])
        Console().print(table)

    @command(name="set")
    def set_(
        self,
        name: Name,
        language: Annotated[str, Option(help="Whose words are stemmed, such as german; keywords are built anew.")] = "",
        archive_policy: Annotated[str, Option(help="What of its faded memories is archived: episodic or all.")] = "",
        as_json: Json = False,
    ) -> None:
        """Sets a namespace's language, and what it archives."""
        principal, place = namespace_named(name)
        with access.enter(principal, why="look"):
            known = {"--language": namespaces.languages(), "--archive-policy": ArchivePolicy.values}
        for option, value in (("--language", language), ("--archive-policy", archive_policy)):
            if value and value not in known[option]:
                raise CommandError(f"{option} has to be one of {', '.join(known[option])}.")
        wanted = {"language": language or None, "archive_policy": archive_policy or None}
        found, is_other = namespaces.change_namespace(principal, name, **wanted)
        if is_other:
            self._run(principal, "rebuild", place, {"target": "keywords"}, as_json=as_json)
            return
        self._print_report(
            {"name": name, "language": found.language, "archive_policy": found.archive_policy}, as_json=as_json
        )

    @command()
    def fork(self, name: Name, target: Target, as_json: Json = False) -> None:
        """Copies a namespace into a new one; from then on neither sees what the other writes."""
        principal, place = namespace_named(name)
        self._run(principal, "fork", place, {"target": target}, as_json=as_json)

    @command()
    def merge(
        self,
        name: Name,
        target: Target,
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what it would do.")] = False,
        accept_recall_loss: AcceptLoss = False,
        as_json: Json = False,
    ) -> None:
        """Replays what a branch wrote through the gate of another namespace; `operations undo` takes it back."""
        principal, place = namespace_named(target)
        options = {"source": name, **({ACCEPT: True} if accept_recall_loss else {})}
        self._run(principal, "merge", place, options, dry_run=dry_run, as_json=as_json)

    @command()
    def rollback(
        self,
        name: Name,
        to: Annotated[str, Option(help="The moment: an ISO 8601 time with an offset.")],
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what it would do.")] = False,
        accept_recall_loss: AcceptLoss = False,
        as_json: Json = False,
    ) -> None:
        """Lets a namespace, with its users, be what it was at a moment; `operations undo` takes it back."""
        principal, place = namespace_named(name)
        options = {"to": to, **({ACCEPT: True} if accept_recall_loss else {})}
        self._run(principal, "rollback", place, options, dry_run=dry_run, as_json=as_json)

    @command()
    def delete(
        self,
        name: Annotated[str, Argument(help="The namespace, or a whole project by its name.")],
        yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
        dry_run: Annotated[bool, Option("--dry-run", help="Only count.")] = False,
        as_json: Json = False,
    ) -> None:
        """Deletes a namespace, or a project, with all that it holds; asks for its name at a terminal."""
        if ":" in name:
            principal, place = namespace_named(name)
            with access.enter(principal, why="look"):
                count = namespaces.size(place)
            kind, options = "delete", {"namespace": name}
        else:
            (project,) = projects_named(name)
            principal = access.system_principal(project)
            with access.enter(principal, why="look"):
                count = namespaces.project_size(project)
            kind, options = "delete_project", {"project": name}
        if dry_run:
            self._print_report({"name": name, "would_delete": count}, as_json=as_json)
            return
        if not (yes or (sys.stdin.isatty() and typer.prompt(f"{count} memories go. The name once more") == name)):
            raise CommandError("Nothing was deleted: repeat the name at a terminal, or use --yes.")
        self._run(principal, kind, None, options, as_json=as_json)

    def _run(
        self,
        principal: Principal,
        kind: str,
        namespace: Namespace | None,
        options: dict[str, Any],
        *,
        as_json: bool,
        dry_run: bool = False,
    ) -> None:
        arguments: dict[str, Any] = {"kind": kind, "namespace": namespace, "options": options, "dry_run": dry_run}
        try:
            operation = jobs.start(principal, **arguments, now=timezone.now(), wake_up=False)
        except (BadOptions, BranchTaken, HistoryLetGo, NotFound) as error:
            raise CommandError(str(error)) from error
        try:
            ended = run_with_progress(principal, operation, kind)
        except Operation.DoesNotExist:  # it went with its project
            self._print_report({"name": principal.project, "deleted": True}, as_json=as_json)
            return
        if as_json:
            self.stdout.write(json.dumps({"operation": str(ended.id), "state": ended.state, **(ended.report or {})}))
        else:
            self.stdout.write(describe_operation(ended))
        if ended.state != OperationState.SUCCEEDED:
            raise SystemExit(1)

    def _print_report(self, report: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(report))
            return
        table = Table(show_header=False)
        for name, value in report.items():
            table.add_row(name, str(value))
        Console().print(table)
