"""What the programs in `script/` tell the person at the terminal: one line a step, on stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


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
