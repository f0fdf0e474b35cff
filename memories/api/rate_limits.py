"""Requests per minute by grant, for the API."""

from collections.abc import Sized

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories.access import Principal, rate_limits
from memories.models.limits import Allowance
from memories.rest import rate_headers


class KeyThrottle(BaseThrottle):
    """Keeps a key to its grant's rate; 0 means no limit. A request weighs as much as it asks for at once."""

    seconds = 0.0

    def allow_request(self, request: Request, view: object) -> bool:
        """Return whether the key has tokens enough left."""
        allowance = rate_headers.kept(request) or self._take(request, view)
        rate_headers.keep(request, allowance)
        self.seconds = allowance.wait if allowance else 0.0
        return self.seconds == 0

    def _take(self, request: Request, view: object) -> Allowance | None:
        """For who was not asked for tokens while the key was looked up."""
        principal, weight = request.user, 1
        if parts := getattr(view, "weighed_by", ""):
            items = request.data.get(parts) if isinstance(request.data, dict) else None
            weight = max(1, min(len(items), getattr(view, "most_parts", 1))) if isinstance(items, Sized) else 1
        return rate_limits.take(principal, weight=weight) if isinstance(principal, Principal) else None

    def wait(self) -> float:
        """Seconds until there are enough."""
        return self.seconds
