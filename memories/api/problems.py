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

from conflicts.front import (
    AliasCollision,
    AlreadyResolved,
    BlockedByErasure,
    CannotSplit,
    CannotUndo,
    CeilingExceeded,
    ClaimsCollide,
    ClaimsDisagree,
    Disputed,
    NotApplicable,
    PredicateTaken,
    StaleConflict,
    StaleRule,
)
from memories.access import NotFound, NotPermitted, UserRequired
from memories.api.once import InFlight, KeyReused
from memories.backups import (
    BaseMissing,
    BrokenBundle,
    EnvelopeTooLarge,
    FileMissing,
    IdentityMissing,
    NoEnvelope,
    NoSpace,
    StillNeeded,
    UnknownVersion,
    WrongProject,
)
from memories.branches import BranchTaken
from memories.forgetting import CountDiffers
from memories.governance import NoDigest
from memories.ingest import History, StaleRevision
from memories.jobs import AlreadyRunning, NotUndoable
from memories.operations import NotOpen
from memories.providers import EmbeddingFailed, NoSuchModel
from memories.upkeep import (
    CannotDigest,
    NoPlan,
    PlanUsed,
    Purged,
    TierMismatch,
    WaitsForDecision,
)
from memories.upkeep import CannotUndo as CannotTakeBack

log = structlog.get_logger(__name__)
MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Known:
    """How an exception of a room is told to a client."""

    status: int
    code: str
    retry_after: int | None = None


KNOWN: dict[type[Exception], Known] = {
    NoPlan: Known(404, "no_plan"),
    NotFound: Known(404, "not_found"),
    Http404: Known(404, "not_found"),
    UserRequired: Known(400, "user_required"),
    NotPermitted: Known(403, "not_permitted"),
    PermissionDenied: Known(403, "not_permitted"),
    CeilingExceeded: Known(403, "authority_ceiling"),
    StaleRevision: Known(409, "stale_revision"),
    StaleRule: Known(409, "stale_revision"),
    PredicateTaken: Known(409, "predicate_taken"),
    AliasCollision: Known(409, "alias_taken"),
    ClaimsCollide: Known(409, "claims_collide"),
    ClaimsDisagree: Known(400, "claims_disagree"),
    BlockedByErasure: Known(409, "blocked_by_erasure"),
    CountDiffers: Known(409, "count_differs"),
    BranchTaken: Known(409, "branch_taken"),
    NotOpen: Known(409, "not_open"),
    History: Known(409, "not_open"),
    Disputed: Known(409, "not_open"),
    StaleConflict: Known(409, "stale_revision"),
    AlreadyResolved: Known(409, "already_resolved"),
    CannotUndo: Known(409, "cannot_undo"),
    CannotSplit: Known(409, "cannot_split"),
    NotApplicable: Known(409, "not_applicable"),
    CannotTakeBack: Known(409, "cannot_undo"),
    NotUndoable: Known(409, "cannot_undo"),
    PlanUsed: Known(409, "plan_used"),
    AlreadyRunning: Known(409, "already_running"),
    TierMismatch: Known(409, "tier_mismatch"),
    WaitsForDecision: Known(409, "waits_for_decision"),
    CannotDigest: Known(409, "cannot_digest"),
    NoDigest: Known(503, "no_digest", retry_after=60),
    UnknownVersion: Known(400, "unknown_version"),
    BrokenBundle: Known(400, "broken_bundle"),
    WrongProject: Known(400, "wrong_project"),
    BaseMissing: Known(409, "base_missing"),
    IdentityMissing: Known(409, "identity_missing"),
    StillNeeded: Known(409, "still_needed"),
    FileMissing: Known(410, "file_missing"),
    NoSpace: Known(507, "no_space"),
    Purged: Known(410, "purged"),
    EmbeddingFailed: Known(503, "embedder_unavailable", retry_after=10),
    InFlight: Known(409, "in_flight", retry_after=1),
    KeyReused: Known(422, "idempotency_mismatch"),
    RequestDataTooBig: Known(413, "too_large"),
    **dict.fromkeys(
        (SuspiciousOperation, BadRequest, MultiPartParserError, UnreadablePostError), Known(400, "malformed")
    ),
    EnvelopeTooLarge: Known(413, "too_large"),
    NoEnvelope: Known(409, "increment"),
    OperationalError: Known(503, "database_unavailable", retry_after=5),
    InterfaceError: Known(503, "database_unavailable", retry_after=5),
}
SAFE_DETAIL = (
    *(
        NotPermitted,
        UserRequired,
        CeilingExceeded,
        StaleRevision,
        StaleRule,
        BlockedByErasure,
        NotOpen,
        InFlight,
        KeyReused,
    ),
    *(PredicateTaken, AliasCollision, ClaimsCollide, ClaimsDisagree, History, Disputed),
    *(StaleConflict, AlreadyResolved, CannotUndo, CannotSplit, NotApplicable),
    *(TierMismatch, WaitsForDecision, Purged, CannotDigest),
    *(BrokenBundle, WrongProject, BaseMissing, StillNeeded, FileMissing, NoSpace, EnvelopeTooLarge, NoEnvelope),
    IdentityMissing,
    *(CannotTakeBack, NotUndoable, AlreadyRunning, NoPlan, PlanUsed),
    *(CountDiffers, BranchTaken, NoDigest),
)
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
    """The response for one problem."""
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    title = HTTPStatus(status).phrase
    body: dict[str, Any] = {"type": f"urn:novamem:problem:{code}", "title": title, "status": status}
    body |= {"detail": detail or f"{title}.", "code": code, "errors": errors or [], "request_id": request_id}
    return HttpResponse(json.dumps(body), status=status, content_type=MEDIA_TYPE, headers=headers or {})


def handler(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """The REST framework's exception handler."""
    for kind, known in KNOWN.items():
        if isinstance(error, kind):
            detail = str(error) if isinstance(error, SAFE_DETAIL) else ""
            headers = {"Retry-After": str(known.retry_after)} if known.retry_after else {}
            return problem(known.status, known.code, detail=detail, errors=_pairs(error), headers=headers)
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


def _pairs(error: Exception) -> list[dict[str, str]]:
    """Which claims collide, which operation runs, which memories are in the way or forgotten, how many fit."""
    if isinstance(error, AlreadyRunning):
        return [{"field": "namespace", "message": str(error.operation_id), "code": "already_running"}]
    if isinstance(error, BlockedByErasure):
        return [{"field": "content", "message": "This text was forgotten.", "code": "blocked_by_erasure"}]
    if isinstance(error, CannotDigest):
        reasons = sorted(error.reasons.items())
        return [{"field": f"ids[{n}]", "message": why, "code": "cannot_digest"} for n, why in reasons]
    if isinstance(error, CountDiffers):
        return [{"field": "expected_count", "message": str(error.count), "code": "count_differs"}]
    if isinstance(error, CannotUndo):
        return [{"field": "fragments", "message": one, "code": "cannot_undo"} for one in error.memories]
    pairs = error.pairs if isinstance(error, ClaimsCollide) else ()
    return [
        {"field": p.cause, "message": f"{p.one} and {p.other} could not both stand.", "code": "claims_collide"}
        for p in pairs
    ]


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
        """Answers the request."""
        response = self.get_response(request)
        if self._is_ours(request) and response.status_code >= HTTPStatus.BAD_REQUEST and self._is_page(response):
            response = problem(response.status_code, CODES.get(response.status_code, "error"))
        response.headers.setdefault("X-Request-Id", structlog.contextvars.get_contextvars().get("request_id", ""))
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """An exception that left a view of the API."""
        return handler(error, {}) if self._is_ours(request) else None

    @staticmethod
    def _is_ours(request: HttpRequest) -> bool:
        return request.path.startswith("/api/v1/")

    @staticmethod
    def _is_page(response: HttpResponse) -> bool:
        return not response.headers.get("Content-Type", "").startswith(MEDIA_TYPE)
