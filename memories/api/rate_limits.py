"""Requests per minute by grant, for the API."""

from collections.abc import Sized

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.access import Principal, rate_limits


class KeyThrottle(BaseThrottle):
    """Keeps a key to its grant's rate; 0 means no limit. A request weighs as much as it asks for at once."""

    seconds = 0.0

    def allow_request(self, request: Request, view: object) -> bool:
        """Return whether the key has tokens enough left."""
        taken: float | None = vars(request).get("rate_wait")
        self.seconds = self._take(request, view) if taken is None else taken
        return self.seconds == 0

    def _take(self, request: Request, view: object) -> float:
        """For who was not asked for tokens while the key was looked up."""
        principal, weight = request.user, 1
        if parts := getattr(view, "weighed_by", ""):
            items = request.data.get(parts) if isinstance(request.data, dict) else None
            weight = max(1, min(len(items), getattr(view, "most_parts", 1))) if isinstance(items, Sized) else 1
        return rate_limits.wait(principal, weight=weight) if isinstance(principal, Principal) else 0.0

    def wait(self) -> float:
        """Seconds until there are enough."""
        return self.seconds
