"""Child processes of the server: kept alive while it lives, and gone when it goes."""

import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from multiprocessing.context import ForkProcess
from pathlib import Path

from setproctitle import setproctitle

from novamem.lifetime import tie_to
from novamem.progress import say

GRACE = 10.0  # seconds between the request to end and the order
BACKOFF = (1, 2, 5, 10, 30)  # seconds before a restart; from the start again after a minute's good run
STEADY = 60.0
FORKED = multiprocessing.get_context("fork")
LOST = 255  # the exit code of what could not be forked
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # that end the server, and each program by itself


class Child:
    """One program, forked, in a process group of its own: Ctrl-C reaches only whoever waits; output in a file.

    Files of its parent (`without`, by descriptor) are closed to it.
    """

    def __init__(
        self, name: str, module: str, words: list[str], *, logs: Path, most: int = 10 << 20, without: Iterable[int] = ()
    ) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self._most = most  # bytes of the log
        self._program = (module, words, self.log, os.getpid(), tuple(without))
        self._process: ForkProcess | None = None
        self._begun = 0.0
        self._failures = 0
        self._due: float | None = None

    def start(self) -> None:
        """Start the program; its log goes on."""
        self._put_aside()
        self._process, self._begun, self._due = None, time.monotonic(), None
        process = FORKED.Process(target=_run, args=self._program, name=self.name)
        with suppress(OSError):  # no process is left to the server, or no memory: the next look tries again, later
            process.start()
            self._process = process

    @property
    def exit_code(self) -> int | None:
        """How it ended, or None before and while it runs."""
        if self._process is None:
            return LOST if self._begun else None
        return self._process.exitcode

    @property
    def is_running(self) -> bool:
        """Whether it has begun and not ended."""
        return self._process is not None and self.exit_code is None

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
        if self._process is None or self._process.pid is None:
            return
        with suppress(PermissionError, ProcessLookupError):
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                if self.exit_code is None:  # just forked, it has no group yet
                    os.kill(self._process.pid, number)

    def _how(self) -> str:
        code = self.exit_code or 0
        if self._process is None:
            return "there is no room for another process"
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name


def stop(children: Iterable[Child], *, hurried: Callable[[], bool]) -> None:
    """End them all: asks first, and after a grace, or when somebody is in a hurry, no longer asks."""
    children = list(children)
    for child in children:
        child.signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while any(child.is_running for child in children) and time.monotonic() < deadline and not hurried():
        time.sleep(0.05)
    for child in children:
        child.signal(signal.SIGKILL)


def _run(module: str, words: list[str], log: Path, parent: int, closed: tuple[int, ...]) -> None:
    """The forked process: what `python -m module words` would be, by name, too."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    os.setpgid(0, 0)
    tie_to(parent)
    for file in closed:
        os.close(file)
    with log.open("ab") as output:
        os.fchmod(output.fileno(), 0o600)
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    setproctitle(f"python -m {' '.join([module, *words])}")
    sys.exit(import_module(module).main(words))
