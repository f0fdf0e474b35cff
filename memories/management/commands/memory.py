"""`manage.py memory list|show|add|delete|search`."""

import json
import sys
import uuid
from collections.abc import Sequence
from typing import IO, Annotated, Any, cast

import typer
from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command, initialize
from rest_framework.utils.encoders import JSONEncoder
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from conflicts.authority import CeilingExceeded
from conflicts.search_index import BlockedByErasure
from memories import access, erasure, ingest
from memories.access import Principal, keys
from memories.management.operation_commands import OfUser, scope_named
from memories.models import CONTENT_LIMIT, Fragment, Namespace, Project
from memories.models.answer_rows import load_answer_rows
from memories.models.enums import FragmentType, SourceClass, Status
from memories.rest.answers import answers
from memories.rest.fragments import answer_of, stored_answers
from memories.retrieval import Question, search

Place = Annotated[str, Option(help="Only this namespace: project:agent.")]
AsJson = Annotated[bool, Option("--json", "-j", help="Print JSON.")]
Kind = Annotated[str, Option("--type", help=f"One of: {', '.join(FragmentType.values)}.")]
Limit = Annotated[int, Option(min=1, max=200, help="At most this many.")]
Id = Annotated[uuid.UUID, Argument(help="The memory's id.")]
COLUMNS = ("id", "namespace", "type", "content", "tier", "status", "effective_weight", "created_at")
LINE = 60


class Command(TyperCommand):
    """Memories at the command line, as the operator."""

    help = "Memories: list, show, add, delete, search."
    as_json = False

    @initialize()
    def options(self, all_json: AsJson = False) -> None:
        """Memories at the command line, as the operator: everything of every project is in reach."""
        self.as_json = all_json

    @command()
    def list(
        self,
        namespace: Place = "",
        user: OfUser = "",
        limit: Limit = 20,
        kind: Kind = "",
        status: Annotated[str, Option(help=f"One of: all, {', '.join(Status.values)}.")] = "active",
        as_json: AsJson = False,
    ) -> None:
        """The newest memories, of all projects or of one namespace."""
        _one_of(kind, FragmentType.values)
        _one_of(status, [*Status.values, "all"])
        conditions = {"type": kind, "status": status if status != "all" else ""}
        scope = scope_named(namespace, user) if namespace else ""
        conditions |= {} if namespace else {"namespace__user": user}
        found = []
        for project in _projects(namespace):
            with access.enter(access.system_principal(project), why="list"):
                rows = Fragment.objects.within(project.id)
                rows = rows.filter(**{name: value for name, value in conditions.items() if value})
                if scope:
                    rows = rows.filter(namespace__in=Namespace.objects.within(project.id).named([scope]))
                found += answers(load_answer_rows(project.id, rows.newest_first()[:limit]), now=timezone.now())
        found.sort(key=lambda row: row["created_at"], reverse=True)
        self._print_rows(found[:limit], as_json)

    @command()
    def show(self, memory_id: Id, user: OfUser = "", as_json: AsJson = False) -> None:
        """One memory with everything that is known of it; exit code 1 when there is none."""
        principal, row = _find(memory_id, user)
        with access.enter(principal, why="read"):
            output = answer_of(principal, row.id)
        if as_json or self.as_json:
            self._print(output)
            return
        self.stdout.write(str(row))
        table = Table("field", "value")
        for name, value in output.items():
            if value not in (None, [], {}):
                table.add_row(name, Text(value if isinstance(value, str) else json.dumps(value, cls=JSONEncoder)))
        self._console().print(table)

    @command()
    def add(
        self,
        text: Annotated[str, Argument(help=f"What to remember, at most {CONTENT_LIMIT} characters.")],
        namespace: Annotated[str, Option(help="Where to store: project:agent.")],
        user: OfUser = "",
        kind: Kind = "",
        source: Annotated[str, Option(help=f"Who said it. One of: {', '.join(SourceClass.values)}.")] = "",
        as_json: AsJson = False,
    ) -> None:
        """Stores one memory with its vector; makes the project and the namespace when they are missing."""
        _one_of(kind, FragmentType.values)
        _one_of(source, SourceClass.values)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise CommandError("Give the text in UTF-8.") from error
        if not 0 < len(text.strip()) <= CONTENT_LIMIT:
            raise CommandError(f"Give a text of 1 to {CONTENT_LIMIT} characters.")
        scope = scope_named(namespace, user)
        draft = ingest.Draft(namespace=scope, content=text.strip(), type=kind or None, source=source or None)
        principal = access.system_principal(keys.ensure_project(scope.partition(":")[0]))
        try:
            admissions = ingest.store(principal, ingest.prepare([draft]), now=timezone.now())
        except (BlockedByErasure, CeilingExceeded) as error:
            raise CommandError(str(error)) from error
        with access.enter(principal, why="answer"):
            (output,) = stored_answers(principal, admissions)
        if as_json or self.as_json:
            self._print(output)
        else:
            again = " It stood there already." if output["deduplicated"] else ""
            self.stdout.write(f"{output['id']} is {output['status']} in {output['namespace']}.{again}")

    @command()
    def delete(
        self,
        memory_id: Id,
        user: OfUser = "",
        yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
        as_json: AsJson = False,
    ) -> None:
        """Erases a memory for good, without a tombstone; asks at a terminal. Exit code 1 when there is none."""
        principal, row = _find(memory_id, user)
        if not yes and sys.stdin.isatty():
            typer.confirm(f"Forget {row} for good?", abort=True)
        erasure.forget(principal, row.id, now=timezone.now())
        if as_json or self.as_json:
            self._print({"id": row.id, "deleted": True})
        else:
            self.stdout.write(f"{row.id} is forgotten.")

    @command()
    def search(
        self,
        query: Annotated[str, Argument(help="A question, in plain words.")],
        namespace: Annotated[str, Option(help="Where to look: project:agent.")],
        user: OfUser = "",
        limit: Limit = 10,
        project_wide: Annotated[
            bool, Option("--project-wide", help="Other agents' fresh memories answer too.")
        ] = False,
        floor: Annotated[
            float | None, Option(help="What the best hit has to reach, 0 for no floor; the model's own if left out.")
        ] = None,
        as_json: AsJson = False,
    ) -> None:
        """The memories that answer a question, best first."""
        if not query.strip():
            raise CommandError("Ask something.")
        (project,) = _projects(namespace)
        now = timezone.now()
        scope = scope_named(namespace, user)
        question = Question(query, [scope], project_wide=project_wide or None, top_k=limit, floor=floor)
        found = search(access.system_principal(project), question, now=now)
        shown = answers([hit.fragment for hit in found.hits], now=now, model=found.model)
        rows = [{**row, "score": hit.score, **hit.labels} for row, hit in zip(shown, found.hits, strict=True)]
        self._print_rows(rows, as_json, more=("score",))

    def _print_rows(self, rows: Sequence[dict[str, Any]], as_json: bool, *, more: tuple[str, ...] = ()) -> None:
        if as_json or self.as_json:
            self._print(rows)
            return
        names = (*more, *COLUMNS)
        table = Table()
        for name in names:
            whole = len(str(uuid.UUID(int=0))) if name == "id" else None  # an id is there to be copied
            table.add_column(name.replace("effective_", "").replace("_at", ""), min_width=whole)
        for row in rows:
            shown = row | {"content": _labelled(row)}
            table.add_row(*(_cell(shown[name]) for name in names))
        self._console().print(table)

    def _print(self, output: Any) -> None:
        self.stdout.write(json.dumps(output, cls=JSONEncoder))

    def _console(self) -> Console:
        return Console(file=cast("IO[str]", self.stdout))


def _cell(value: Any) -> Text:
    """The value as plain text: what a memory says is no markup."""
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return Text(text if len(text) <= LINE else f"{text[: LINE - 1]}…")


def _labelled(row: dict[str, Any]) -> str:
    """What a memory says, behind what it is held against."""
    labels = {"contradicts": "contradicts", "on_record": "on record:"}
    output = [(label, claim) for name, label in labels.items() if (claim := row.get(name))]
    return "".join(f"({label} {claim['predicate']} = {claim['value']}) " for label, claim in output) + str(
        row["content"]
    )


def _one_of(value: str, words: "list[str]") -> None:
    if value and value not in words:
        raise CommandError(f"Unknown {value!r}; use one of {', '.join(words)}.")


def _projects(namespace: str) -> "list[Project]":
    """The project of a namespace, or without one all of them."""
    if not namespace:
        return [*Project.objects.order_by("name")]
    found = [*Project.objects.filter(name=scope_named(namespace).partition(":")[0])]
    if not found:
        raise CommandError(f"There is no namespace {namespace!r}.")
    return found


def _find(memory_id: uuid.UUID, user: str) -> tuple[Principal, Fragment]:
    """A memory, of that user if one is named, and the operator in its project."""
    whose = {"namespace__user": user} if user else {}
    for project in Project.objects.order_by("name"):
        principal = access.system_principal(project)
        with access.enter(principal, why="read"):
            row = Fragment.objects.within(project.id).select_related("project").filter(id=memory_id, **whose).first()
        if row is not None:
            return principal, row
    raise CommandError(f"There is no memory {memory_id}.")
