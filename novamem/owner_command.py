"""A command of Django's as the owner of the tables, in a process that was forked without that login."""

import os

from django.conf import settings
from django.core.management import execute_from_command_line
from django.db import connections

from novamem import database


def main(words: list[str]) -> None:
    """Run the command with the login that the environment names by now."""
    from novamem.settings import connection

    settings.DATABASES["owner"] = connection(os.environ[database.OWNER], pooled=False)
    connections.settings = connections.configure_settings(settings.DATABASES)
    execute_from_command_line(["manage.py", *words])
