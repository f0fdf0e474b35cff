"""`manage.py doctor`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand
from typer import Option

from memories.diagnosis import diagnose
from memories.management.diagnostic_bundle import write_bundle

MARKS = {"ok": "✓", "look": "!", "wrong": "✗"}


class Command(TyperCommand):
    """What is wrong, and what to do."""

    help = "Says what is wrong with this installation and what to do; exit code 1 when something is."
    requires_system_checks: list[str] = []  # as Django declares it

    def handle(
        self,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
        bundle: Annotated[str, Option(help="Also write a ZIP for who helps you: no texts, no secrets.")] = "",
    ) -> None:
        """Look at everything."""
        found = diagnose(now=timezone.now())
        if as_json:
            self.stdout.write(json.dumps([asdict(each) for each in found]))
        else:
            for each in found:
                detail = f": {each.detail}" if each.detail else ""
                self.stdout.write(f"{MARKS[each.state]} {each.what}{detail}{f'. {each.remedy}' if each.remedy else ''}")
        if bundle:
            try:
                names = write_bundle(Path(bundle), found)
            except OSError as error:
                raise CommandError(f"{bundle} can't be written: {error.strerror}") from error
            self.stderr.write(f"{bundle} holds {', '.join(names)}. Look through it before you send it.")
        if any(each.state == "wrong" for each in found):
            raise SystemExit(1)
