"""A question for an agent that has none: from what happens, what it wants and how it feels."""

from collections.abc import Sequence

LATEST = 10


def query_from(*, events: Sequence[str] = (), goals: Sequence[str] = (), emotion: str = "") -> str:
    """The ten latest events (the last is the latest), the goals and the emotion, one a line; empty without any."""
    return "\n".join(filter(None, [*goals, *reversed(events[-LATEST:]), emotion]))
