"""Errors of the proxy itself, in the shape in which OpenAI's clients expect them, or Anthropic's."""

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpResponse, JsonResponse

from memories.access import NotFound, NotPermitted
from memories.errors import UserRequired


class ProxyRefused(Exception):
    """The proxy answers in the upstream's place: HTTP status, OpenAI's `code`, a sentence, the field at fault."""

    def __init__(self, status: int, code: str, message: str, *, param: str | None = None, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.code, self.param, self.retry_after = status, code, param, retry_after


MESSAGES = "/v1/messages"  # where Anthropic's clients ask
TYPES = {403: "permission_error", 429: "rate_limit_error", 502: "upstream_error", 503: "server_error"}


ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


def refusal(refused: ProxyRefused, path: str) -> HttpResponse:
    """`{"error": {"message", "type", "param", "code"}}`; for Anthropic's clients their types, and a `type` above."""
    anthropic = f"{path}/".startswith(f"{MESSAGES}/")
    types, failed = (ANTHROPIC_TYPES, "api_error") if anthropic else (TYPES, "server_error")
    kind = types.get(refused.status, failed if refused.status >= 500 else "invalid_request_error")
    error = {"message": str(refused), "type": kind, "param": refused.param, "code": refused.code}
    headers = {"Retry-After": str(refused.retry_after)} if refused.retry_after else {}
    headers |= {"WWW-Authenticate": "Bearer"} if refused.status == 401 else {}
    body: dict[str, object] = {"type": "error", "error": error} if anthropic else {"error": error}
    return JsonResponse(body, status=refused.status, headers=headers)


KNOWN = (ProxyRefused, NotFound, NotPermitted, UserRequired, RequestDataTooBig, OperationalError, InterfaceError)


def refused_for(error: Exception) -> ProxyRefused:
    """Return how one of the KNOWN exceptions is told."""
    match error:
        case ProxyRefused():
            return error
        case NotFound():
            return ProxyRefused(404, "namespace_not_found", "There is no such namespace for this key.")
        case NotPermitted():
            return ProxyRefused(403, "not_permitted", str(error))
        case UserRequired():
            return ProxyRefused(400, "user_required", f"{error}.".capitalize(), param="user")
        case RequestDataTooBig():
            return ProxyRefused(413, "too_large", f"The request is over {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes.")
    return ProxyRefused(503, "database_unavailable", "The memory's database is away.", retry_after=5)
