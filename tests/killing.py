"""A worker that kills itself at a failpoint, and what the next one makes of what it left."""

import datetime
import os
import subprocess
import sys

import pytest
from django.conf import settings as django_settings
from django.db import connections
from django.utils import timezone

from memories import access, jobs
from memories.models import Operation
from novamem import database

# Made once; forks a worker for each operation that it is told of, before it has a connection of its own.
WORKERS = """
import os, sys, uuid, django
django.setup()
from memories import access, jobs, upkeep
from memories.models import Project
import numpy
for line in sys.stdin:
    project, operation, failpoint = line.rstrip("\\n").split(" ")
    child = os.fork()
    if child == 0:
        os.environ["NOVAMEM_FAILPOINT"] = failpoint
        principal = access.system_principal(Project.objects.get(id=project))
        jobs.run(principal, uuid.UUID(operation))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture
def worker(tmp_path, committed):
    """Runs an operation in a process of its own; its exit code."""
    home = django_settings.ENV["DATABASE_URL"]
    environment = {
        **os.environ,
        "DATABASE_URL": database.url_for(home, connections["default"].settings_dict["NAME"]),
        "EMBEDDER": "fake",
        "DEBUG": "true",
        "LOG_LEVEL": "CRITICAL",
        "SECRET_KEY": "of the test",
        "NOVAMEM_DATA_DIR": str(tmp_path),
        "PYTHONPATH": f"{django_settings.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, "-c", WORKERS]
    with subprocess.Popen(
        command, cwd=django_settings.ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as workers:

        def work(operation, *, failpoint=""):
            workers.stdin.write(f"{committed.id} {operation.id} {failpoint or '-'}\n")
            workers.stdin.flush()
            return int(workers.stdout.readline())

        yield work
        workers.stdin.close()


def abandoned(service, operation):
    """The operation, once its lease has run out."""
    with access.enter(service, why="test"):
        Operation.objects.filter(id=operation.id).update(lease_until=timezone.now() - datetime.timedelta(days=1))
    return operation


def recovered(service, operation):
    """What the next worker makes of it, once the lease has run out."""
    return jobs.run(service, abandoned(service, operation).id)
