"""A command of Django's as the owner of the tables, in a process that was forked without that login."""

import os

from django.conf import settings
from django.core.management import call_command
from django.db import connections

from novamem import database


def main(words: list[str]) -> None:
    """Run the command with the login that the environment names by now."""
    from novamem.settings import connection

    settings.DATABASES["owner"] = connection(os.environ[database.OWNER], pooled=False)
    connections.settings = connections.configure_settings(settings.DATABASES)
    call_command(*words)  # without Django's checks, which preloading has made
