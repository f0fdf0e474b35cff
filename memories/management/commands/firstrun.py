"""`manage.py firstrun`: what a new server needs before anybody can use it."""

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memories import access, demo
from memories.access import keys, members
from memories.models import ApiKey
from memories.models.enums import Role
from memories.providers import active_model

OWNER = "first key"


class Command(BaseCommand):
    """The first admin, the first key, the demo project. Run again it adds only what is missing."""

    help = "Makes the embedding model, the first admin, the first key and the demo project, where they are missing."

    def handle(self, *args: object, **options: object) -> None:
        """Prints secrets once."""
        active_model()
        output = demo.create_story(now=timezone.now())
        project = keys.ensure_project(demo.PROJECT)
        if output:
            self.stdout.write(f"  Demo project {project.name}: {output} memories in {demo.TOUR}.")
        users = get_user_model()._default_manager
        if not users.filter(is_superuser=True).exists():
            password = secrets.token_urlsafe(12)
            admin = self._superuser(password)
            members.enrol(project, admin, role=Role.ADMIN)
            self.stdout.write(f"  First admin, shown this once: user admin, password {password}")
        with access.enter(access.system_principal(project), why="first run"):
            has_key = ApiKey.objects.within(project.id).filter(owner__name=OWNER).exists()
        if not has_key:
            request = keys.KeyRequest(namespaces=[f"{project.name}:*"], verbs=["read", "write"], ceiling="tool_output")
            issued = keys.issue(project, request, owner=OWNER)
            self.stdout.write(f"  First API key, shown this once: {issued.text}")

    @staticmethod
    def _superuser(password: str) -> Any:
        try:
            users = get_user_model()._default_manager.db_manager(members.owner_alias())
        except members.BadMember as error:
            raise CommandError(str(error)) from error
        made: Any = users.create_superuser(username="admin", password=password)
        return get_user_model()._default_manager.get(pk=made.pk)
