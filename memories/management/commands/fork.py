"""`manage.py fork`, which is `namespaces fork`."""

from django.core.management import call_command
from django_typer.management import TyperCommand

from memories.management.commands.namespaces import Json, Name, Target


class Command(TyperCommand):
    """Fork a namespace."""

    help = "Copies a namespace into a new one; from then on neither sees what the other writes."

    def handle(self, name: Name, target: Target, as_json: Json = False) -> None:
        """Forks here and now."""
        call_command("namespaces", "fork", name, target, *(["--json"] if as_json else []), stdout=self.stdout)
