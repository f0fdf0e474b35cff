"""`manage.py member add`."""

import getpass
import json
import sys
from typing import Annotated

from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.db import transaction
from django_typer.management import TyperCommand, command, initialize
from typer import Option

from memories import keys, members
from memories.models import Membership
from memories.models.words import Role


class Command(TyperCommand):
    """People of a project."""

    help = "People of a project."

    @initialize()
    def people(self) -> None:
        """People of a project."""

    @command()
    def add(
        self,
        project: Annotated[str, Option(help="The project's name; made when it is missing.")],
        username: Annotated[str, Option(help="The person's name for logging in.")],
        role: Annotated[str, Option(help="viewer, reviewer or admin.")],
        password_stdin: Annotated[
            bool, Option("--password-stdin", help="Read the password from standard input.")
        ] = False,
        as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    ) -> None:
        """Gives a person a role in a project; makes the person when they are new."""
        if role not in Role.values:
            raise CommandError(f"Unknown role {role!r}; use one of {', '.join(Role.values)}.")
        user = get_user_model()._default_manager.filter(username=username).first()
        made = user is None
        if user is None or password_stdin:
            password = sys.stdin.readline().rstrip("\n") if password_stdin else getpass.getpass()
            try:
                with transaction.atomic():
                    user = members.make(username, password, known=user)
                    keys.ensure_project(project)
            except (members.BadMember, keys.BadGrant) as error:
                raise CommandError(str(error)) from error
        Membership.objects.update_or_create(project=keys.ensure_project(project), user=user, defaults={"role": role})
        if as_json:
            self.stdout.write(json.dumps({"username": username, "project": project, "role": role, "created": made}))
        else:
            self.stdout.write(f"{username} is {role} of {project}.")
