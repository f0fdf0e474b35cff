"""How long the stages of what is answered took, for whoever logs slow requests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from memories import spans

_stages: ContextVar[dict[str, float] | None] = ContextVar("stages", default=None)


@contextmanager
def collected_stages() -> Iterator[dict[str, float]]:
    """Yield the milliseconds by stage that are noted inside, added up."""
    found: dict[str, float] = {}
    token = _stages.set(found)
    try:
        yield found
    finally:
        _stages.reset(token)


def note_stages(milliseconds: Mapping[str, float]) -> None:
    """Note how long stages took, for whoever collects them, and for the span that is open."""
    spans.note({f"novamem.stage.{stage}_ms": took for stage, took in milliseconds.items()})
    found = _stages.get()
    if found is not None:
        for stage, took in milliseconds.items():
            found[stage] = found.get(stage, 0.0) + took
