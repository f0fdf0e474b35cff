"""What `/metrics` says of contexts: how many memories were looked at, handed out, and left out for which reason."""

from collections.abc import Iterable

from prometheus_client import Counter

CANDIDATES = Counter("nova_context_candidates", "Memories that were considered for a context.")
KEPT = Counter("nova_context_kept", "Memories that a context handed out.")
EXCLUDED = Counter("nova_context_excluded", "Memories that a context left out.", ["reason"])


def count(*, kept: int, excluded: Iterable[str]) -> None:
    """Count one context, given the reasons of what it left out."""
    reasons = list(excluded)
    CANDIDATES.inc(kept + len(reasons))
    KEPT.inc(kept)
    for reason in reasons:
        EXCLUDED.labels(reason).inc()
