"""A command of Django's as the owner of the tables, in a process that was forked without that login."""

import os

from django.conf import settings
from django.core.management import call_command
from django.db import connections

MOST = 1 << 16  # bytes of a login


def main(words: list[str]) -> None:
    """Run the command with the login that stands in a file, whose descriptor comes before it."""
    from novamem.settings import connection

    login, *command = words
    settings.DATABASES["owner"] = connection(os.pread(int(login), MOST, 0).decode(), pooled=False)
    connections.settings = connections.configure_settings(settings.DATABASES)
    call_command(*command)  # without Django's checks, which preloading has made
