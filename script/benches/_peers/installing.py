"""Peers' packages, in an environment of their own that the first run makes: the product's stays clean."""

import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements-peers.txt"
ENCODER = ("numpy", "onnxruntime", "tokenizers")  # in the product's versions: same vectors, same speed


class NotInstalled(Exception):
    """A peer's packages can't be had; says the last line of what pip said."""


def python_with(packages: Sequence[str], *, home: Path) -> Path:
    """Return the Python of the peers' environment, with these packages as pinned. Raise NotInstalled."""
    python = home / "venv" / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", "--clear", str(home / "venv")])
    lines = [*pinned(packages), *(f"{name}=={version(name)}" for name in ENCODER)]
    stamp, wanted = home / "venv" / f"installed-{'+'.join(packages)}", "\n".join(lines)
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"installing {', '.join(packages)}", file=sys.stderr)
        _run([str(python), "-m", "pip", "install", "--disable-pip-version-check", "--prefer-binary", *lines])
        stamp.write_text(wanted)
    return python


def pinned(packages: Sequence[str]) -> list[str]:
    """Their lines of the requirements. Raise NotInstalled for one that has none."""
    lines = {re.split(r"[\[=]", line)[0]: line for line in REQUIREMENTS.read_text().splitlines()}
    if missing := [name for name in packages if name not in lines]:
        raise NotInstalled(f"{REQUIREMENTS.name} lacks {', '.join(missing)}")
    return [lines[name] for name in packages]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled(last_line(done.stderr or done.stdout) or f"ended with {done.returncode}")


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
