"""`manage.py proposals list|propose|accept|dismiss|undo`."""

import json
import uuid
from collections.abc import Callable
from typing import Annotated, Any

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from typer import Argument, Option

from conflicts.resolution import AlreadyResolved, CannotUndo, NotApplicable
from memories import access, governance
from memories.access import NotFound, Principal
from memories.governance.task_proposals import Situation
from memories.management.job_runner import projects_named
from memories.management.operation_commands import format_table
from memories.models import Project, Proposal
from memories.models.enums import Decision, ProposalOutcome, SourceClass

Json = Annotated[bool, Option("--json", help="Print JSON.")]
Id = Annotated[uuid.UUID, Argument(help="The proposal's id.")]


class Command(TyperCommand):
    """What language models propose."""

    help = "What language models propose, judged, and what became of it."

    @command("list")
    def show_all(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        task: Annotated[str, Option(help="Only this task.")] = "",
        outcome: Annotated[str, Option(help=f"Only this: {', '.join(ProposalOutcome.values)}.")] = "",
        waiting: Annotated[bool, Option("--waiting", help="Only what waits for a person.")] = False,
        limit: Annotated[int, Option(help="How many of a project at most.", min=1)] = 20,
        as_json: Json = False,
    ) -> None:
        """The newest proposals that are kept."""
        wishes = {"task_id": task, "outcome": outcome, "waiting": waiting}
        conditions = {name: value for name, value in wishes.items() if value}
        rows = []
        for found in projects_named(project):
            with access.enter(access.system_principal(found), why="list"):
                proposals = Proposal.objects.within(found.id).filter(**conditions).lasting(now=timezone.now())
                rows += [
                    proposal_json(row)
                    for row in proposals.select_related("namespace").order_by("-created_at", "-id")[:limit]
                ]
        self._print_rows(rows, as_json=as_json)

    @command()
    def propose(
        self,
        context: str,
        namespace: Annotated[str, Option(help="Where it belongs (project:agent).")],
        task: Annotated[str, Option(help="The task's id.")],
        as_json: Json = False,
    ) -> None:
        """Asks the language model how to go about a task; exit code 1 when nothing came of it."""
        now = timezone.now()
        project = Project.objects.filter(name=namespace.partition(":")[0]).first()
        if project is None:
            raise CommandError(f"There is no project of the namespace {namespace!r}.")
        principal = access.system_principal(project)
        with Progress(console=Console(stderr=True)) as bar:
            bar.add_task("asking the language model", total=None)
            try:
                considered = governance.task_proposals.ask_and_judge(
                    principal, namespace, Situation(task, context), now=now
                )
            except NotFound as error:
                raise CommandError(str(error)) from error
        row = governance.task_proposals.store_outcome(principal, considered, now=now)
        self._print_rows([proposal_json(row)], as_json=as_json)
        if row.outcome != ProposalOutcome.ALLOWED:
            raise SystemExit(1)

    @command()
    def accept(self, proposal_id: Id, as_json: Json = False) -> None:
        """Lets the newer memory of a supersession that waits replace the older one; `undo` takes it back."""
        now = timezone.now()
        self._decide(
            proposal_id,
            lambda by: governance.decide(by, proposal_id, Decision.ACCEPTED, now=now),
            "The newer memory replaces the older one.",
            as_json=as_json,
        )

    @command()
    def dismiss(self, proposal_id: Id, as_json: Json = False) -> None:
        """Leaves both memories as they are; it is not proposed again."""
        now = timezone.now()
        self._decide(
            proposal_id,
            lambda by: governance.decide(by, proposal_id, Decision.DISMISSED, now=now),
            "Both memories stay; this is not proposed again.",
            as_json=as_json,
        )

    @command()
    def undo(self, proposal_id: Id, as_json: Json = False) -> None:
        """Takes a decision back: both memories are as before it, and the proposal waits again."""
        now = timezone.now()
        self._decide(
            proposal_id,
            lambda by: governance.undo(by, proposal_id, now=now),
            "The decision is taken back: the proposal waits again.",
            as_json=as_json,
        )

    def _decide(
        self, proposal_id: uuid.UUID, act: Callable[[Principal], Proposal], text: str, *, as_json: bool
    ) -> None:
        """Does it where the proposal lies. Raises CommandError when the room refuses it; nothing changes then."""
        try:
            row = act(_owner_of(proposal_id))
        except (AlreadyResolved, CannotUndo, NotApplicable, NotFound) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(proposal_json(row)) if as_json else text)

    def _print_rows(self, rows: list[dict[str, Any]], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(rows))
            return
        names = ("id", "created_at", "namespace", "task_id", "kind", "outcome", "decision", "reasons", "fragment_id")
        table = Table()
        for name in names:
            whole = len(str(uuid.UUID(int=0))) if name == "id" else None  # an id is there to be copied
            table.add_column(name, min_width=whole)
        for row in rows:
            decision = "waiting" if row["waiting"] else row["decision"]
            table.add_row(*(str({**row, "decision": decision}[name] or "") for name in names))
        self.stdout.write(format_table(table))


def _owner_of(proposal_id: uuid.UUID) -> Principal:
    """The operator, who may decide on anything, in the project of a proposal. Raises CommandError."""
    for project in Project.objects.order_by("name"):
        principal = access.system_principal(project, ceiling=SourceClass.USER_EXPLICIT)
        with access.enter(principal, why="look"):
            if Proposal.objects.within(project.id).filter(id=proposal_id).exists():
                return principal
    raise CommandError(f"There is no proposal {proposal_id}.")


def proposal_json(row: Proposal) -> dict[str, Any]:
    """A proposal as JSON."""
    return {
        "id": str(row.id),
        "created_at": row.created_at.isoformat(timespec="seconds"),
        "namespace": row.namespace.name,
        "task_id": row.task_id,
        "kind": row.kind,
        "outcome": row.outcome,
        "reasons": ", ".join(row.reasons),
        "judge": row.judge,
        "proposal": row.proposal,
        "about": [str(side) for side in row.about],
        "waiting": row.waiting,
        "decision": row.decision,
        "calls": [str(call) for call in row.calls],
        "fragment_id": str(row.fragment_id) if row.fragment_id else None,
    }
