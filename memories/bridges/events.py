"""What the bridges share: how an event is kept and answered."""

from dataclasses import replace
from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from conflicts.search_index import BlockedByErasure
from memories.ingest import Draft, prepare, store_events
from memories.rest.answers import StoredAnswer
from memories.rest.authentication import principal_of
from memories.rest.fields import AboutUser, Text
from memories.rest.fragments import batch_answers, with_capacity
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.inputs import Provenance, namespace_form

ID_LIMIT = 255


class EventInput(AboutUser):
    """Where an event goes, and who vouches for it; without `provenance` it is an inference."""

    namespace = Text(validators=[namespace_form])
    provenance = Provenance(required=False)


class StoredList(serializers.Serializer[Any]):
    """A stored fragment for each part of an event."""

    results = StoredAnswer(many=True)


def voucher_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a draft that say who vouches for an event."""
    given = values.get("provenance") or {}
    return {
        "namespace": values["namespace"],
        "source": given.get("source"),
        "provenance_source_id": given.get("source_id", ""),
        "parents": given.get("parents", []),
    }


def store_event(request: Request, drafts: list[Draft], *, many: bool = False) -> Response:
    """Keep an event's drafts; answers 201, or 200 when all of it was told before in these words.

    Each record of one's own with a name is a memory under a key: nothing is merged with it.
    """
    principal = principal_of(request)
    drafts = [replace(draft, key=f"{draft.key}@{principal.owner}") if draft.key else draft for draft in drafts]

    def effect(prepared: Any) -> IdempotentAnswer:
        each = store_events(principal, prepared, now=timezone.now())
        admissions = [admission for admission in each if admission is not None]
        if not (admissions or many):
            raise BlockedByErasure(index=0)
        status = 200 if all(admission.deduplicated for admission in admissions) else 201

        def data() -> Any:
            results = batch_answers(principal, each)
            return {"results": results} if many else results[0]

        return IdempotentAnswer(status, data, [admission.fragment.id for admission in admissions])

    answer = answer_once(request, prepare=lambda: prepare(drafts), effect=effect)
    return with_capacity(principal, answer, stored=len(drafts))
