"""`manage.py audit verify`."""

import json
from dataclasses import asdict
from typing import Annotated

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from typer import Option

from memories import access, audit
from memories.models import Project


class Command(TyperCommand):
    """The audit chain."""

    help = "The audit chain: verify it, seal what is new."

    @command()
    def verify(
        self,
        project: Annotated[str, Option(help="Only this project.")] = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Names the first event that was changed, removed, slipped in or cut off; exit code 1 then."""
        verdicts = {p.name: audit.verify(access.system_principal(p)) for p in _projects(project)}
        if as_json:
            self.stdout.write(json.dumps({name: asdict(verdict) for name, verdict in verdicts.items()}))
        for name, verdict in verdicts.items():
            if not as_json:
                said = f"{verdict.finding.kind}: {verdict.finding.what}" if verdict.finding else "whole"
                counts = f"{verdict.seals} seals, {verdict.events} events, {verdict.unsealed} not sealed yet"
                self.stdout.write(f"{name}: {said} ({counts})")
        if any(verdict.finding for verdict in verdicts.values()):
            raise SystemExit(1)

    @command()
    def seal(self, project: Annotated[str, Option(help="Only this project.")] = "") -> None:
        """Seals new events now instead of at the next minute."""
        for found in _projects(project):
            sealed = audit.seal(access.system_principal(found), now=timezone.now())
            self.stdout.write(f"{found.name}: {sealed.events if sealed else 0} events sealed")


def _projects(name: str) -> list[Project]:
    rows = Project.objects.filter(name=name) if name else Project.objects.order_by("name")
    if name and not rows:
        raise CommandError(f"There is no project {name!r}.")
    return list(rows)
