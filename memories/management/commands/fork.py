"""`manage.py fork`, which is `namespaces fork`."""

from typing import Annotated

from django.core.management import call_command
from django_typer.management import TyperCommand
from typer import Option

from memories.management.commands.namespaces import Name, Target


class Command(TyperCommand):
    """Fork a namespace."""

    help = "Copies a namespace into a new one; from then on neither sees what the other writes."

    def handle(
        self,
        name: Name,
        target: Target,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Forks here and now."""
        call_command("namespaces", "fork", name, target, *(["--json"] if as_json else []), stdout=self.stdout)
