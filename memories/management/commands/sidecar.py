"""`manage.py sidecar check|calls`."""

import json
from typing import Annotated

from django.conf import settings
from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.table import Table
from typer import Option

from memories import access, governance
from memories.management.job_runner import projects_named
from memories.management.operation_commands import format_table
from memories.models import LlmCall


class Command(TyperCommand):
    """The language model beside the server."""

    help = "The language model beside the server."

    @command("check")
    def try_it(
        self,
        project: Annotated[str, Option(help="Whose call it is; by default the first project's.")] = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Asks it for a sign of life; exit code 1 when there is none."""
        projects = projects_named(project)
        if not projects:
            raise CommandError("There is no project yet: a call belongs to one.")
        checked = governance.health.check_sidecar(access.system_principal(projects[0]), now=timezone.now())
        call = checked.call
        output = {
            "works": checked.works,
            "why": checked.why,
            "url_setting": settings.SIDECAR_SETTING,
            "reduction_client": governance.judge_name(),
            "advisory_mode": settings.ADVISORY_MODE,
            **({"model": call.model, "host": call.host, "latency_ms": call.latency_ms} if call else {}),
            **({"request_hash": call.request_hash, "output_hash": call.output_hash} if call else {}),
        }
        table = Table(show_header=False)
        for name, value in output.items():
            table.add_row(name, str(value))
        self.stdout.write(json.dumps(output) if as_json else format_table(table))
        if not checked.works:
            raise SystemExit(1)

    @command("calls")
    def show_calls(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        limit: Annotated[int, Option(help="How many of a project at most.", min=1)] = 20,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """The provenance of the newest calls."""
        names = ["created_at", "purpose", "model", "host", "outcome", "tries", "latency_ms"]
        names += ["request_hash", "output_hash"]
        rows = []
        for found in projects_named(project):
            with access.enter(access.system_principal(found), why="list"):
                calls = LlmCall.objects.within(found.id).order_by("-created_at", "-id")[:limit]
                rows += [{"id": str(row.id), **{name: getattr(row, name) for name in names}} for row in calls]
        table = Table(*names)
        for row in rows:
            table.add_row(*(str(row[name])[:19] for name in names))
        self.stdout.write(json.dumps(rows, default=str) if as_json else format_table(table))
