"""Use and relevance as SQL, for statements over fragments `f` and their accesses `a`; `now` is a parameter."""

from memories.models.fragment import DECAY_PER_DAY

COLD_BELOW = 0.15
# How much slower a memory fades that was read on several days.
STABILITY = "coalesce(a.stability, 1)"
LAST_USED = "greatest(f.created_at, coalesce(a.last_accessed_at, f.created_at))"


def days_since(moment: str) -> str:
    """Days from a moment to `now`, never below zero."""
    return f"greatest(0, extract(epoch FROM %(now)s - {moment}))::float8 / 86400"


def decayed(base: str, *, days: str, stability: str = STABILITY) -> str:
    """base · e^(−.05·days/stability); see `memories.models.decayed`. Postgres refuses what is too small for a float."""
    return f"greatest({base}, 1e-100) * exp(greatest(-300, -{DECAY_PER_DAY} * {days} / {stability}))"
