"""`manage.py forget`."""

import json
import sys
import uuid
from typing import Annotated, Any

import typer
from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from rich.console import Console
from rich.table import Table
from typer import Option

from conflicts.authority import SOURCE_RANK
from memories import erasure, jobs
from memories.erasure import ErasureRequest
from memories.management.operation_commands import OfUser, namespace_named, run_with_progress
from memories.models.enums import FragmentType, OperationState, SourceClass, Status
from memories.retrieval import Filters

MOST_SHOWN = 10


class Command(TyperCommand):
    """Forget many memories for good."""

    help = "Erases what filters find, every copy of it, if it is as many as expected."

    def handle(
        self,
        namespace: Annotated[str, Option(help="Of this namespace (project:agent).")],
        user: OfUser = "",
        memory_id: Annotated[list[uuid.UUID] | None, Option("--id", help="This memory; several times.")] = None,
        content: Annotated[str, Option(help="All that says this text, in any case, spacing or punctuation.")] = "",
        tag: Annotated[list[str] | None, Option(help="With one of these tags; several times.")] = None,
        kind: Annotated[str, Option("--type", help=f"One of: {', '.join(FragmentType.values)}.")] = "",
        conversation: Annotated[str, Option(help="Of this conversation.")] = "",
        status: Annotated[str, Option(help=f"One of: all, {', '.join(Status.values)}.")] = "active",
        expect: Annotated[int | None, Option(help="So many; another count forgets nothing.", min=0)] = None,
        purge_backups: Annotated[bool, Option("--purge-backups", help="Delete backups that hold any of it.")] = False,
        everywhere: Annotated[bool, Option("--everywhere", help="Bar the texts in the whole project.")] = False,
        dry_run: Annotated[bool, Option("--dry-run", help="Only count.")] = False,
        yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Here and now, as an operation that others can watch; exit code 1 when nothing was forgotten."""
        _one_of(kind, FragmentType.values)
        _one_of(status, [*Status.values, "all"])
        principal, place = namespace_named(namespace, user)
        filters = Filters(
            type=[kind] if kind else [],
            tags=tag or [],
            conversation_id=conversation,
            **({"include_all": True} if status == "all" else {"status_filter": [status]}),
        )
        request = ErasureRequest(filters, memory_id or [], content)
        if filters == Filters() and not (memory_id or content):
            raise CommandError("Say what is to be forgotten: --id, --content, --tag, --type, --conversation, --status.")
        found = erasure.preview(principal, place, request, purge_backups=purge_backups, now=timezone.now())
        if dry_run:
            return self._print_report({**found.report(), "dry_run": True}, as_json=as_json)
        if not yes and sys.stdin.isatty():
            typer.confirm(f"Forget {found.count} memories of {place.name} for good?", abort=True)
        if expect is None and not yes:
            raise CommandError("Say how many memories these are (--expect), or --yes.")
        options = erasure.erasure_options(
            request.by_ids(found.ids),
            expected=found.count if expect is None else expect,
            authority=SOURCE_RANK[SourceClass.USER_EXPLICIT],
            purge_backups=purge_backups,
            everywhere=everywhere,
        )
        made: dict[str, Any] = {"kind": "forget", "namespace": place, "options": options}
        started = jobs.start(principal, **made, now=timezone.now(), wake_up=False)
        operation = run_with_progress(principal, started, place.name)
        if operation.state != OperationState.SUCCEEDED:
            raise CommandError(f"{found.count} memories fit; nothing was forgotten: {(operation.error or {})['code']}.")
        return self._print_report({**(operation.report or {}), "dry_run": False}, as_json=as_json)

    def _print_report(self, report: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(report))
            return
        table = Table("memories", "digests", "backups", "standing again")
        table.add_column("the first", no_wrap=True, min_width=36)
        shown = "\n".join(report["ids"][:MOST_SHOWN])
        again = str(len(report["restored_ids"]))
        table.add_row(str(report["count"]), str(report["digests"]), str(len(report["backups"])), again, shown)
        Console().print(table)


def _one_of(word: str, words: list[str]) -> None:
    if word and word not in words:
        raise CommandError(f"Use one of: {', '.join(words)}.")
