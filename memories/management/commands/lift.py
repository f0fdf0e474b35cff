"""`manage.py lift TEXT --project P`."""

import json
from typing import Annotated

from django.core.management import CommandError
from django_typer.management import TyperCommand
from typer import Argument, Option

from conflicts.authority import SOURCE_RANK
from memories import access, erasure
from memories.access import NotFound
from memories.management.job_runner import projects_named
from memories.management.operation_commands import namespace_named, project_meant
from memories.models.enums import SourceClass


class Command(TyperCommand):
    """Lift an erasure."""

    help = "Lets a forgotten text be said again; nothing comes back by itself."

    def handle(
        self,
        text: Annotated[str, Argument(help="What was forgotten, in whatever case and spacing.")],
        project: Annotated[str, Option(help="The project.")],
        namespace: Annotated[str, Option(help="In this namespace alone (project:agent).")] = "",
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Exit code 1 when it was not forgotten."""
        (found,) = projects_named(project_meant(namespace, project))
        principal = access.system_principal(found)
        place = namespace_named(namespace)[1] if namespace else None
        try:
            lifted = erasure.lift(principal, text, authority=SOURCE_RANK[SourceClass.USER_EXPLICIT], namespace=place)
        except NotFound as error:
            raise CommandError("This text was not forgotten.") from error
        self.stdout.write(json.dumps({"lifted": lifted}) if as_json else f"{lifted} fingerprints lifted.")
