"""Where the bench reaches into the product from outside: deaths at failpoints, and faults of the product's own.

Each is at work only while the file that the bench keeps names it; the processes go on meanwhile.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path

_files: list[Path] = []


def install(path: str) -> None:
    """Lay everything in place, once a process."""
    if _files:
        return
    _files.append(Path(path))
    _die_at_failpoints()


def is_active(name: str) -> bool:
    """Return whether the bench wants this fault just now."""
    with suppress(OSError):
        return _files[0].read_text() == name
    return False


def _die_at_failpoints() -> None:
    """Let a process die where the product's tests would; the file goes first, so that only one dies."""
    from memories import failpoints

    def reach(name: str) -> None:
        wanted = _files[0].with_suffix(".failpoint")
        with suppress(OSError):
            if wanted.read_text() == name:
                wanted.rename(wanted.with_suffix(".reached"))
                os.kill(os.getpid(), signal.SIGKILL)

    failpoints.reach = reach
