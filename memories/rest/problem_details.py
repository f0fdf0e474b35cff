"""Errors as RFC 9457 problem documents: what went wrong, its code, the fields, the request id; nothing else."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import structlog
from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from rest_framework.exceptions import APIException, NotAuthenticated, Throttled, ValidationError

from memories.errors import NovaError
from memories.providers import NoSuchModel
from memories.rest import rate_headers

log = structlog.get_logger(__name__)
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Known:
    """How an exception of Django or the database is told to a client."""

    status: int
    code: str
    retry_after: int | None = None


KNOWN: dict[type[Exception], Known] = {
    Http404: Known(404, "not_found"),
    PermissionDenied: Known(403, "not_permitted"),
    RequestDataTooBig: Known(413, "too_large"),
    **dict.fromkeys(
        (SuspiciousOperation, BadRequest, MultiPartParserError, UnreadablePostError), Known(400, "malformed")
    ),
    OperationalError: Known(503, "database_unavailable", retry_after=5),
    InterfaceError: Known(503, "database_unavailable", retry_after=5),
}
CODES = {401: "unauthenticated", 403: "not_permitted", 404: "not_found", 405: "method_not_allowed", 400: "malformed"}
CODES |= {406: "not_acceptable", 413: "too_large", 415: "unsupported_media_type", 429: "rate_limited"}


def problem(
    status: int,
    code: str,
    *,
    detail: str = "",
    errors: list[dict[str, str]] | None = None,
    headers: dict[str, str] | None = None,
) -> HttpResponse:
    """Return the response for one problem."""
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    title = HTTPStatus(status).phrase
    body: dict[str, Any] = {"type": f"urn:novamem:problem:{code}", "title": title, "status": status}
    body |= {"detail": detail or f"{title}.", "code": code, "errors": errors or [], "request_id": request_id}
    return HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE, headers=headers or {})


def handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Return the REST framework's exception handler."""
    if isinstance(error, NovaError):
        return _of_room(error)
    for kind, known in KNOWN.items():
        if isinstance(error, kind):
            return problem(known.status, known.code, headers=_retry(known.retry_after))
    if isinstance(error, NoSuchModel):  # it was retired since the request was read
        error = ValidationError({"model": [str(error)]})
    if isinstance(error, ValidationError):
        return problem(
            400, "validation", detail="The request has invalid fields.", errors=list(field_errors(error.detail))
        )
    if isinstance(error, APIException):
        return _of_framework(error)
    log.exception("unhandled_error", exc_info=error)
    return problem(500, "internal", detail="Something went wrong here; the request id leads to the log.")


def _of_room(error: NovaError) -> HttpResponse:
    detail = str(error) if error.is_public else ""
    errors = [{**field, "code": error.code} for field in error.fields]
    return problem(error.status, error.code, detail=detail, errors=errors, headers=_retry(error.retry_after))


def _retry(seconds: int | None) -> dict[str, str]:
    return {"Retry-After": str(seconds)} if seconds else {}


def _of_framework(error: APIException) -> HttpResponse:
    headers = {}
    if isinstance(error, Throttled):
        headers["Retry-After"] = str(int(getattr(error, "wait", 0) or 0) + 1)
    if error.status_code == HTTPStatus.UNAUTHORIZED or isinstance(error, NotAuthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    code = CODES.get(error.status_code, "error")
    return problem(error.status_code, code, detail=str(error.detail), headers=headers)


def field_errors(detail: Any, place: str = "") -> Iterator[dict[str, str]]:
    """`{"field": "fragments[3].content", "message": …}` for each leaf of REST framework's error tree."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            if isinstance(name, int):
                yield from field_errors(inner, f"{place}[{name}]")
            else:
                yield from field_errors(inner, place if name == "non_field_errors" else f"{place}.{name}".strip("."))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, dict | list)
            if not nested or inner:
                yield from field_errors(inner, f"{place}[{index}]" if nested else place)
    else:
        yield {"field": place, "message": str(detail), "code": getattr(detail, "code", "invalid")}


class ProblemMiddleware:
    """Names the request in every answer, and turns errors outside the views of the API into problems too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request."""
        response = self.get_response(request)
        if self._is_ours(request) and response.status_code >= HTTPStatus.BAD_REQUEST and self._is_page(response):
            response = problem(response.status_code, CODES.get(response.status_code, "error"))
        for name, value in rate_headers.headers_of(request).items():
            response.headers[name] = value
        response.headers.setdefault("X-Request-Id", structlog.contextvars.get_contextvars().get("request_id", ""))
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return an exception that left a view of the API."""
        return handler(error, {}) if self._is_ours(request) else None

    @staticmethod
    def _is_ours(request: HttpRequest) -> bool:
        return request.path_info.startswith("/api/v1/")

    @staticmethod
    def _is_page(response: HttpResponse) -> bool:
        return not response.headers.get("Content-Type", "").startswith(MEDIA_TYPE)
