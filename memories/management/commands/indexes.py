"""`manage.py indexes`."""

import time
from typing import Annotated

import structlog
from django.conf import settings
from django.core.management import CommandError
from django.db import connections
from django_typer.management import TyperCommand
from typer import Option

from memories import access, retrieval
from memories.models import Project

log = structlog.get_logger(__name__)


class Command(TyperCommand):
    """Build and drop vector indexes."""

    help = "Builds the vector indexes that large namespaces need and drops the others. Needs DATABASE_OWNER_URL."

    def handle(
        self,
        every: Annotated[int, Option(min=0, help="Go on until a signal, after so many seconds each; 0: once.")] = 0,
    ) -> None:
        """Keeps the indexes of every project; one project's trouble does not stop the others."""
        if "owner" not in settings.DATABASES:
            raise CommandError("Indexes are built as the owner of the tables: set DATABASE_OWNER_URL.")
        self._build()
        while every:
            time.sleep(every)
            self._build()

    def _build(self) -> None:
        try:
            for project in list(Project.objects.order_by("name")):
                self._keep_of(project)
            retrieval.drop_strays()
        except Exception:
            log.exception("indexes_not_kept")
        finally:
            for alias in ("default", "owner"):
                connections[alias].close()

    def _keep_of(self, project: Project) -> None:
        try:
            retrieval.maintain_indexes(access.system_principal(project))
        except Exception:
            log.exception("project_passed_over", project=project.name)
