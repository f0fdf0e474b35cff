"""Requests per minute by grant, for the API."""

import time

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from memories import rates
from memories.access import Principal


class KeyThrottle(BaseThrottle):
    """Keeps a key to its grant's rate; 0 means no limit."""

    seconds = 0.0

    def allow_request(self, request: Request, view: object) -> bool:
        """Whether the key has a token left."""
        principal = request.user
        self.seconds = rates.wait(principal, now=time.monotonic()) if isinstance(principal, Principal) else 0.0
        return self.seconds == 0

    def wait(self) -> float:
        """Seconds until the next token."""
        return self.seconds
