"""`manage.py apikey create|list|revoke|rotate`."""

import datetime
import json
from typing import IO, Annotated, Any, cast

from django.core.management import CommandError
from django.utils import timezone
from django_typer.management import TyperCommand, command
from rich.console import Console
from rich.table import Table
from typer import Option

from memories import access
from memories.access import keys
from memories.models import ApiKey, Project

ProjectName = Annotated[str, Option("--project", help="The project's name.")]
KeyId = Annotated[str, Option("--id", help="The key's id: the ten characters after nova_, or its uuid.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
LONGEST = datetime.timedelta(days=36_500)  # beyond it lies no date that the calendar is sure to have


class Command(TyperCommand):
    """API keys: issue, list, revoke, rotate."""

    help = "API keys: issue, list, revoke, rotate."

    @command()
    def create(
        self,
        project: ProjectName,
        namespaces: Annotated[
            str | None, Option(help="Patterns, separated by commas. Default: all of the project.")
        ] = None,
        verbs: Annotated[str, Option(help="Of read, write, review, admin.")] = "read,write",
        ceiling: Annotated[str, Option(help="The strongest source class that the key may claim.")] = "tool_output",
        attest_user: Annotated[
            bool, Option("--attest-user", help="May attest what users plainly say (proxy, ingest, mem0).")
        ] = False,
        users: Annotated[
            str, Option(help="Whether each request names a user: required, optional or none.")
        ] = "optional",
        user_patterns: Annotated[
            str, Option(help="Which users, as patterns separated by commas; * stands for any characters.")
        ] = "*",
        read_wide: Annotated[bool, Option("--read-wide", help="May ask for other agents' memories too.")] = False,
        upstream_paths: Annotated[
            str, Option(help="What else of the proxy's upstream it may use, such as 'GET files/*,POST batches'.")
        ] = "",
        owner: Annotated[str, Option(help="The account behind the key. Default: a new service account.")] = "",
        rate: Annotated[int, Option(help="Requests a minute; 0 for no limit.")] = 600,
        days: Annotated[int, Option(min=0, max=LONGEST.days, help="Days until the key expires; 0 for never.")] = 0,
        as_json: AsJson = False,
    ) -> None:
        """Issues a key. Its text is shown this once."""
        request = keys.KeyRequest(
            namespaces=[f"{project}:*"] if namespaces is None else _parts(namespaces),
            verbs=_parts(verbs),
            ceiling=ceiling,
            may_attest_user=attest_user,
            users=users,
            user_patterns=_parts(user_patterns),
            may_read_wide=read_wide,
            upstream_paths=_parts(upstream_paths),
            requests_per_minute=rate,
        )
        expires_at = timezone.now() + datetime.timedelta(days=days) if days else None
        try:
            issued = keys.issue(keys.ensure_project(project), request, owner=owner or None, expires_at=expires_at)
        except keys.BadGrant as error:
            raise CommandError(str(error)) from error
        self._show(issued, as_json)

    @command()
    def list(self, project: ProjectName, as_json: AsJson = False) -> None:
        """Lists a project's keys."""
        found = _project(project)
        with access.enter(access.system_principal(found), why="list keys"):
            rows = [
                _row(key)
                for key in ApiKey.objects.within(found.id).select_related("grant", "owner").order_by("created_at")
            ]
        if as_json:
            self.stdout.write(json.dumps(rows))
            return
        table = Table("id", "owner", "verbs", "namespaces", "ceiling", "state", "last used")
        for row in rows:
            table.add_row(
                *(
                    str(row[name] or "")
                    for name in ("id", "owner", "verbs", "namespaces", "ceiling", "state", "last_used_at")
                )
            )
        Console(file=cast("IO[str]", self.stdout)).print(table)

    @command()
    def revoke(self, project: ProjectName, key_id: KeyId, as_json: AsJson = False) -> None:
        """Ends a key at once."""
        try:
            row = keys.revoke(_project(project), key_id, now=timezone.now())
        except keys.BadGrant as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            json.dumps({"id": row.key_id, "revoked": True}) if as_json else f"Key {row.key_id} is revoked."
        )

    @command()
    def rotate(
        self,
        project: ProjectName,
        key_id: KeyId,
        overlap: Annotated[
            int, Option(min=0, max=LONGEST.days * 24, help="Hours for which the old key goes on working.")
        ] = 24,
        as_json: AsJson = False,
    ) -> None:
        """Issues a key with the same grant; the old one ends after the overlap."""
        try:
            issued = keys.rotate(
                _project(project), key_id, now=timezone.now(), overlap=datetime.timedelta(hours=overlap)
            )
        except keys.BadGrant as error:
            raise CommandError(str(error)) from error
        self._show(issued, as_json)

    def _show(self, issued: keys.Issued, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"key": issued.text, "id": issued.row.key_id}))
        else:
            self.stdout.write(f"{issued.text}\nKeep it: it is shown this once. Its id is {issued.row.key_id}.")


def _parts(text: str) -> "list[str]":
    return [part.strip() for part in text.split(",") if part.strip()]


def _project(name: str) -> Project:
    found = Project.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no project {name!r}.")
    return found


def _row(key: ApiKey) -> dict[str, Any]:
    now = timezone.now()
    ended = (key.revoked_at and "revoked") or (key.expires_at and key.expires_at <= now and "expired") or "valid"
    return {
        "id": key.key_id,
        "owner": key.owner.name,
        "namespaces": ",".join(key.grant.namespaces),
        "verbs": ",".join(key.grant.verbs),
        "ceiling": key.grant.ceiling,
        "users": key.grant.users,
        "user_patterns": ",".join(key.grant.user_patterns),
        "may_attest_user": key.grant.may_attest_user,
        "may_read_wide": key.grant.may_read_wide,
        "upstream_paths": ",".join(key.grant.upstream_paths),
        "state": ended,
        "created_at": key.created_at.isoformat(),
        "expires_at": key.expires_at and key.expires_at.isoformat(),
        "last_used_at": key.last_used_at and key.last_used_at.isoformat(),
    }
