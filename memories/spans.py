"""Spans of a trace, for whoever exports them (`novamem.telemetry`); nothing where nobody does.

What is given here leaves the installation: names, numbers and ids of ours, never a text, a key, a user or a statement.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol

Kind = Literal["server", "database", "consumer", "client", "internal"]
Value = str | int | float


class Recorder(Protocol):
    """What keeps spans."""

    def span(self, kind: Kind, name: str, attributes: Mapping[str, Value]) -> AbstractContextManager[object]:
        """Return a context that is one span; its errors are told by their type."""

    def note(self, attributes: Mapping[str, Value]) -> None:
        """Add to the span that is open."""

    def ids(self) -> Mapping[str, str]:
        """Return `trace_id` and `span_id` of the span that is open; nothing outside of one."""


_recorder: Recorder | None = None


def record_by(recorder: Recorder | None) -> None:
    """Let spans be kept from now on, or no more."""
    global _recorder
    _recorder = recorder


def span(kind: Kind, name: str, attributes: Mapping[str, Value] | None = None) -> AbstractContextManager[object]:
    """Return a context that is one span of few possible names."""
    return _recorder.span(kind, name, attributes or {}) if _recorder else nullcontext()


def note(attributes: Mapping[str, Value]) -> None:
    """Add to the span that is open."""
    if _recorder:
        _recorder.note(attributes)


def ids() -> Mapping[str, str]:
    """Return `trace_id` and `span_id` for a line of the log."""
    return _recorder.ids() if _recorder else {}
