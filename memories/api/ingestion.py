"""/api/v1/ingest: conversations and documents."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.ingest.messages import PreparedMessages, prepare_messages, store_messages
from memories.rest.answers import StoredAnswer
from memories.rest.authentication import principal_of
from memories.rest.fields import validated
from memories.rest.fragments import IDEMPOTENCY, stored_answers, with_capacity
from memories.rest.idempotency import IdempotentAnswer, answer_once
from memories.rest.ingestion import IngestInput, messages_of


class SkippedAnswer(serializers.Serializer[Any]):
    """A message that was not kept."""

    index = serializers.IntegerField()
    reason = serializers.CharField()


class IngestAnswer(serializers.Serializer[Any]):
    """What was stored and what was skipped."""

    stored = StoredAnswer(many=True)
    skipped = SkippedAnswer(many=True)


class IngestView(APIView):
    """Ingest."""

    @extend_schema(operation_id="ingest", request=IngestInput, parameters=[IDEMPOTENCY], responses={201: IngestAnswer})
    def post(self, request: Request) -> Response:
        """Keeps what is worth keeping of a conversation or a text.

        A conversation has `messages`, a document a `text`. The answer says what was skipped, and why.
        """
        principal = principal_of(request)
        values = validated(IngestInput, request.data)

        def effect(work: PreparedMessages) -> IdempotentAnswer:
            report = store_messages(principal, work, now=timezone.now())
            skipped = [{"index": skip.index, "reason": skip.reason} for skip in report.skipped]
            data = {"stored": stored_answers(principal, report.stored), "skipped": skipped}
            return IdempotentAnswer(201, data, [admission.fragment.id for admission in report.stored])

        answer = answer_once(
            request,
            prepare=lambda: prepare_messages(
                principal, messages_of(values), namespace=values["namespace"], now=timezone.now()
            ),
            effect=effect,
        )
        return with_capacity(principal, answer, stored=len(answer.data["stored"]))
