"""A worker that rests before each batch of one fragment, so that a test can end it in the middle of a job.

Run as a process of its own, with seconds to rest as argument.
"""

import os
import sys
import time

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")
django.setup()

from memories import upkeep  # noqa: E402
from novamem.celery import app  # noqa: E402


def slowed(target):
    """The target, one fragment at a time."""

    def prepare(batch):
        time.sleep(float(sys.argv[1]))
        return target.prepare(batch)

    return type(target)(1, prepare, target.write)


upkeep.TARGETS.update({name: slowed(target) for name, target in upkeep.TARGETS.items()})
app.worker_main(["worker", "-P", "threads", "-c", "2", "-l", "INFO"])
