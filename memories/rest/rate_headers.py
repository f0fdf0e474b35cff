"""What a key may still do, as answers tell it: the `RateLimit` headers of draft-ietf-httpapi-ratelimit-headers."""

from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request

from memories.models.limits import Allowance

KEPT = "allowance"  # of the request, from who asks for tokens to who tells of them


def keep(request: Request, allowance: Allowance | None) -> None:
    """Keep what was left with the request."""
    vars(request._request)[KEPT] = allowance


def kept(request: Request) -> Allowance | None:
    """Return what was kept."""
    found: Allowance | None = vars(request._request).get(KEPT)
    return found


def headers_of(request: HttpRequest) -> dict[str, str]:
    """Return the headers: none for who has no limit, or was not asked for tokens."""
    allowance: Any = vars(request).get(KEPT)
    if not isinstance(allowance, Allowance):
        return {}
    return {
        "RateLimit-Policy": f"{allowance.rate};w=60",
        "RateLimit-Limit": str(allowance.rate),
        "RateLimit-Remaining": str(allowance.left),
        "RateLimit-Reset": str(allowance.seconds_until_full),
    }
