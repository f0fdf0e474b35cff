"""Processes that end with their parent, so that nothing is left over when it is killed."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def tie_to(parent: int) -> None:
    """Let Linux end this process when its parent is killed; elsewhere nothing does."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was killed in between
            os._exit(1)
