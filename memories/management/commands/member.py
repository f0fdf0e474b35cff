"""`manage.py member add|email|close|reset-factor|logins`."""

import getpass
import json
import sys
from typing import Annotated, Any

from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.db import transaction
from django.utils import timezone
from django_typer.management import TyperCommand, command, initialize
from typer import Option

from memories.access import keys, logins, members
from memories.models import LoginEvent, Project
from memories.models.enums import LoginOutcome, Role

Username = Annotated[str, Option(help="The person's name for logging in.")]
Json = Annotated[bool, Option("--json", help="Print JSON.")]


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    if not sys.stdin.isatty():
        raise CommandError("There is no terminal to ask for the password: give it by --password-stdin.")
    return getpass.getpass()


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
        username: Username,
        role: Annotated[str, Option(help="viewer, reviewer or admin.")],
        email: Annotated[str, Option(help="Where a link to a new password is sent, if mail is set up.")] = "",
        password_stdin: Annotated[
            bool, Option("--password-stdin", help="Read the password from standard input.")
        ] = False,
        as_json: Json = False,
    ) -> None:
        """Gives a person a role in a project; makes the person when they are new."""
        if role not in Role.values:
            raise CommandError(f"Unknown role {role!r}; use one of {', '.join(Role.values)}.")
        user = get_user_model()._default_manager.filter(username=username).first()
        made = user is None
        is_new_project = not Project.objects.filter(name=project).exists()
        try:
            if user is not None and email:
                members.set_email(user, email)
            if user is None or password_stdin:
                password = _password(from_stdin=password_stdin)
                with transaction.atomic():
                    user = members.make(username, password, known=user, email=email)
                    keys.ensure_project(project)
        except (members.BadMember, keys.BadGrant) as error:
            raise CommandError(str(error)) from error
        members.enrol(keys.ensure_project(project), user, role=role)
        told = {"username": username, "project": project, "role": role, "created": made}
        if as_json:
            self.stdout.write(json.dumps({**told, "project_created": is_new_project}))
        else:
            self.stdout.write(f"{username} is {role} of {project}{', a new project' if is_new_project else ''}.")

    @command(name="email")
    def set_email(
        self,
        username: Username,
        to: Annotated[str, Option(help="The address; empty takes it away.")] = "",
        as_json: Json = False,
    ) -> None:
        """Sets where a person gets a link to a new password. Needs DATABASE_OWNER_URL."""
        try:
            members.set_email(self._person(username), to)
        except members.BadMember as error:
            raise CommandError(str(error)) from error
        told = f"{username} gets mail at {to}." if to else f"{username} gets no mail."
        self.stdout.write(json.dumps({"username": username, "email": to}) if as_json else told)

    @command()
    def close(
        self,
        username: Username,
        reopen: Annotated[bool, Option("--reopen", help="Let the person log in again.")] = False,
        as_json: Json = False,
    ) -> None:
        """Ends an account: the person logs in no more, and is out of every session. Needs DATABASE_OWNER_URL."""
        self._person(username)
        try:
            members.close(username, closed=not reopen)
        except members.BadMember as error:
            raise CommandError(str(error)) from error
        told = f"{username} {'logs in again' if reopen else 'logs in no more'}."
        self.stdout.write(json.dumps({"username": username, "closed": not reopen}) if as_json else told)

    @command(name="reset-factor")
    def reset_factor(self, username: Username, as_json: Json = False) -> None:
        """Takes a person's second factor and recovery codes away, when both are lost."""
        user = self._person(username)
        if not logins.remove_factor(user):
            raise CommandError(f"{username} has no second factor.")
        logins.note(user, LoginOutcome.FACTOR_REMOVED, address="", now=timezone.now())
        told = f"{username} logs in with the password alone."
        self.stdout.write(json.dumps({"username": username, "second_factor": False}) if as_json else told)

    @command(name="logins")
    def show_logins(
        self,
        username: Username,
        limit: Annotated[int, Option(help="How many, the newest first.")] = 20,
        as_json: Json = False,
    ) -> None:
        """Tells how a person's tries to log in ended; of addresses only whether they are the same."""
        rows = LoginEvent.objects.filter(user_id=self._person(username).pk).order_by("-at", "-id")[:limit]
        told = [(row.at, str(row.outcome), bytes(row.address).hex()[:8]) for row in rows]
        if as_json:
            names = ("at", "outcome", "address")
            self.stdout.write(
                json.dumps([dict(zip(names, (at.isoformat(), *more), strict=True)) for at, *more in told])
            )
            return
        for at, outcome, address in told:
            self.stdout.write(f"{at:%Y-%m-%d %H:%M:%S}  {outcome:14}  from {address}")

    @staticmethod
    def _person(username: str) -> Any:
        user = get_user_model()._default_manager.filter(username=username).first()
        if user is None:
            raise CommandError(f"There is nobody called {username!r}.")
        return user
