"""Idempotency-Key: the same key and body give the same answer and one effect (docs/spec.md §4)."""

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import connection
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from memories import access
from memories.access import Principal
from memories.errors import NovaError
from memories.models import RepeatedRequest
from memories.rest.authentication import principal_of
from memories.rest.entity_tags import compare_fragment

LONGEST = 255
T = TypeVar("T")


class InFlight(NovaError):
    """The first request with this key is still being worked on."""

    code = "in_flight"
    retry_after = 1


class KeyReused(NovaError):
    """The key was used before with another body."""

    status = 422
    code = "idempotency_mismatch"


@dataclass(frozen=True, slots=True)
class IdempotentAnswer:
    """What a writing view answers: the status, the data and the fragments that it names.

    Data that is a function is worked out after the effect has been committed, so that no lock is held meanwhile.
    """

    status: int
    data: Any
    fragment_ids: list[uuid.UUID] = field(default_factory=list)


def answer_once(request: Request, *, prepare: Callable[[], T], effect: Callable[[T], IdempotentAnswer]) -> Response:
    """Run `prepare` (provider calls, no transaction), then `effect` in one transaction, or replays its answer.

    The record of the answer commits with the effect. Raise InFlight, KeyReused; PreconditionFailed for a fragment that
    is not as `If-Match` says, unless the answer was given before.
    """
    key = request.headers.get("Idempotency-Key")
    principal = principal_of(request)

    def guarded(prepared: T) -> IdempotentAnswer:
        compare_fragment(request, principal)
        return effect(prepared)

    why = f"{request.method} {request.resolver_match.route if request.resolver_match else request.path_info}"
    if key is None:
        prepared = prepare()
        with access.enter(principal, why=why):
            answer = guarded(prepared)
        return Response(_data(principal, answer), status=answer.status)
    if not 0 < len(key) <= LONGEST or not key.isprintable():
        raise ValidationError({"Idempotency-Key": [f"Use 1 to {LONGEST} printable characters."]})
    digest = _digest(request, principal)
    with access.enter(principal, why="replay"):
        kept = _stored_answer(principal, key, digest)
    if kept is None:
        prepared = prepare()
        with access.enter(principal, why=why):
            _lock(principal, key)
            kept = _stored_answer(principal, key, digest) or _store_answer(principal, key, digest, guarded(prepared))
    return Response(kept.answer, status=kept.status)


def _data(principal: Principal, answer: IdempotentAnswer) -> Any:
    if not callable(answer.data):
        return answer.data
    with access.enter(principal, why="answer"):
        return answer.data()


def _digest(request: Request, principal: Principal) -> bytes:
    # The user may stand in a header or the address: an answer about one person is no answer about another.
    about = [] if principal.seen_users == "{}" else [principal.seen_users]
    body = json.dumps([request.method, request.path_info, request.data, *about], sort_keys=True)
    return hashlib.sha256(body.encode()).digest()


def _lock(principal: Principal, key: str) -> None:
    number = int.from_bytes(hashlib.sha256(f"{principal.key_id} {key}".encode()).digest()[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [number])
        if not cursor.fetchone()[0]:
            raise InFlight("a request with this Idempotency-Key is still being worked on")


def _stored_answer(principal: Principal, key: str, digest: bytes) -> RepeatedRequest | None:
    rows = RepeatedRequest.objects.within(principal.project_id)
    found: RepeatedRequest | None = rows.filter(key_id=principal.key_id, idempotency_key=key).first()
    if found and bytes(found.body_digest) != digest:
        raise KeyReused("this Idempotency-Key was used with another request")
    return found


def _store_answer(principal: Principal, key: str, digest: bytes, answer: IdempotentAnswer) -> RepeatedRequest:
    assert principal.key_id is not None  # whoever comes through the API has a key
    kept: RepeatedRequest = RepeatedRequest.objects.create(
        project_id=principal.project_id,
        key_id=principal.key_id,
        idempotency_key=key,
        body_digest=digest,
        status=answer.status,
        answer=json.loads(json.dumps(_data(principal, answer), cls=JSONEncoder)),
        fragment_ids=answer.fragment_ids,
    )
    return kept
