"""What the programs in `script/` tell the person at the terminal: one line a step, on stderr."""

import errno
import getpass
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

FULL = {errno.ENOSPC, errno.EDQUOT}
SHUT = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.EEXIST}


def disk_trouble(error: OSError) -> str:
    """Return what is wrong with a file or its disk, and what to do, in one line."""
    remedy = ""
    if error.errno in FULL:
        remedy = " Make room there, or let NOVAMEM_DATA_DIR name a folder on another disk."
    elif error.errno in SHUT:
        remedy = f" NOVAMEM_DATA_DIR has to be a folder that {_user()} may write to."
    return f"{error.filename or 'A file'}: {error.strerror}.{remedy}"


def _user() -> str:
    try:
        return f"the user {getpass.getuser()}"
    except (KeyError, OSError):  # a container's user without a name
        return "this user"


def say(line: str) -> None:
    """One line."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@contextmanager
def step(name: str) -> Iterator[None]:
    """Around a step: names it while it lasts (at a terminal), then say how long it took."""
    begun = time.monotonic()
    live = sys.stderr.isatty()
    if live:
        sys.stderr.write(f"… {name}")
        sys.stderr.flush()
    erase = "\r\033[K" if live else ""
    try:
        yield
    except BaseException:
        say(f"{erase}✗ {name}")
        raise
    say(f"{erase}✓ {name} {time.monotonic() - begun:.1f} s")
