"""A worker that rests before each batch of one fragment, so that a test can end it in the middle of a job.

Run as a process of its own, with seconds to rest as argument.
"""

import os
import sys
import time
from dataclasses import replace

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "novamem.settings")
django.setup()

from memories import upkeep  # noqa: E402
from novamem.celery import app  # noqa: E402


def rest(batch):
    """Works nothing out."""
    time.sleep(float(sys.argv[1]))


upkeep.reindex.TARGETS["keywords"] = replace(upkeep.reindex.TARGETS["keywords"], size=1, prepare=rest)
app.worker_main(["worker", "-P", "threads", "-c", "2", "-l", "INFO"])
