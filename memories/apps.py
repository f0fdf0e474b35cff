"""The Django app."""

import gc

from django.apps import AppConfig
from django.contrib.admin import apps as admin

# Objects that have come, less those that have gone, before the garbage among them is looked for: after 700, that was
# twice in each search, for nothing.
YOUNG = 5_000


class AdministrationConfig(admin.AdminConfig):
    """Django's admin, on our site."""

    default = False  # of this module the other is
    default_site = "memories.console.logins.Administration"


class MemoriesConfig(AppConfig):
    """Fragments and everything around them."""

    name = "memories"

    def ready(self) -> None:
        """Let OpenAPI know our extensions, failpoints be checked, readings be told; set up each new connection."""
        gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
        from django.db.backends.signals import connection_created
        from prometheus_client import REGISTRY

        from memories import failpoints  # noqa: F401  # registers its check
        from memories.api import openapi  # noqa: F401
        from memories.models.timestamps import read_timestamps
        from memories.readings import Readings
        from memories.schema_editor import use_schema_editor
        from memories.statement_comments import comment_statements

        connection_created.connect(comment_statements)
        connection_created.connect(use_schema_editor)
        connection_created.connect(read_timestamps)
        REGISTRY.register(Readings())
