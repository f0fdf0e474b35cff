"""`manage.py merge`, which is `namespaces merge`."""

from typing import Annotated

from django.core.management import call_command
from django_typer.management import TyperCommand
from typer import Option

from memories.management.commands.namespaces import Json, Name, Target
from memories.management.operation_commands import AcceptLoss


class Command(TyperCommand):
    """Merge a branch."""

    help = "Replays what a branch wrote through the gate of another namespace; `operations undo` takes it back."

    def handle(
        self,
        name: Name,
        target: Target,
        dry_run: Annotated[bool, Option("--dry-run", help="Only tell what it would do.")] = False,
        accept_recall_loss: AcceptLoss = False,
        as_json: Json = False,
    ) -> None:
        """Merges here and now."""
        given = {"--dry-run": dry_run, "--accept-recall-loss": accept_recall_loss, "--json": as_json}
        call_command("namespaces", "merge", name, target, *(word for word in given if given[word]), stdout=self.stdout)
