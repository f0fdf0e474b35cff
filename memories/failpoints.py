"""Failpoints: places where a process kills itself when told to, so that tests see what survives.

NOVAMEM_FAILPOINT names the one to die at. It works with DEBUG only; elsewhere a check refuses to start.
"""

import os
import signal
from typing import Any

from django.conf import settings
from django.core import checks

VARIABLE = "NOVAMEM_FAILPOINT"


def reach(name: str) -> None:
    """End this process by SIGKILL when it was told to die here."""
    if os.environ.get(VARIABLE) == name and settings.DEBUG:
        os.kill(os.getpid(), signal.SIGKILL)


@checks.register
def only_for_tests(**_: Any) -> list[checks.CheckMessage]:
    """Return a failpoint in earnest would be an outage."""
    if VARIABLE not in os.environ or settings.DEBUG:
        return []
    return [checks.Error(f"{VARIABLE} is set.", hint="Unset it; it needs DEBUG.", id="memories.E001")]
