"""Child processes of the server: kept alive while it lives, and gone when it goes."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from novamem import env
from novamem.progress import say

GRACE = 10.0  # seconds between the request to end and the order
BACKOFF = (1, 2, 5, 10, 30)  # seconds before a restart; from the start again after a minute's good run
STEADY = 60.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class Child:
    """One program in a process group of its own, so that Ctrl-C reaches only whoever waits for it; output in a file."""

    def __init__(
        self, name: str, command: list[str], *, environment: dict[str, str], logs: Path, most: int = 10 << 20
    ) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self._most = most  # bytes of the log
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0
        self._failures = 0
        self._due: float | None = None

    def start(self) -> None:
        """Start the program; its log goes on."""
        self._put_aside()
        with self.log.open("ab") as output:
            os.fchmod(output.fileno(), 0o600)
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=env.ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=_die_with_parent(os.getpid()),
            )
        self._begun, self._due = time.monotonic(), None

    @property
    def exit_code(self) -> int | None:
        """How it ended, or None while it runs."""
        return self._process.poll() if self._process else None

    def tend(self) -> None:
        """Start it again when it has ended: later and later while it keeps failing. A log that is full is put aside."""
        if self.exit_code is None:
            self._put_aside()
            return
        now = time.monotonic()
        if self._due is None:
            self._failures = 0 if now - self._begun > STEADY else self._failures
            wait = BACKOFF[min(self._failures, len(BACKOFF) - 1)]
            self._failures += 1
            self._due = now + wait
            say(f"✗ {self.name} ended ({self._how()}) and starts again in {wait} s; why stands in {self.log}")
        elif now >= self._due:
            self.start()

    def _put_aside(self) -> None:
        """Copy a full log to `.log.1` and empty it: the program goes on writing to the same file, at its end."""
        with suppress(OSError):  # no room for the copy: it goes on growing, and the next look tries again
            if self.log.stat().st_size > self._most:
                former = self.log.with_suffix(".log.1")
                former.touch(mode=0o600)
                shutil.copyfile(self.log, former)
                os.truncate(self.log, 0)

    def last_words(self, lines: int = 15) -> str:
        """Return the end of its log."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def signal(self, number: int) -> None:
        """To the program and all that it started."""
        if self._process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _how(self) -> str:
        code = self.exit_code or 0
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def stop(children: Iterable[Child], *, hurried: Callable[[], bool]) -> None:
    """End them all: asks first, and after a grace, or when somebody is in a hurry, no longer asks."""
    children = list(children)
    for child in children:
        child.signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while any(child.exit_code is None for child in children) and time.monotonic() < deadline and not hurried():
        time.sleep(0.05)
    for child in children:
        child.signal(signal.SIGKILL)


def _die_with_parent(parent: int) -> Callable[[], None] | None:
    """Linux ends the child when its parent is killed, so that nothing is left over. Elsewhere nothing does."""
    return None if LIBC is None else lambda: tie_to(parent)


def tie_to(parent: int) -> None:
    """Let Linux end this process when its parent is killed."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it was killed in between
            os._exit(1)
