"""/api/v1/ingest: conversations and documents."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memories.api.answers import StoredAnswer
from memories.api.authentication import principal_of
from memories.api.fields import AboutUser, Moment, Strict, Text, validated
from memories.api.fragments import IDEMPOTENCY, stored_answer, with_capacity
from memories.api.idempotency import IdempotentAnswer, answer_once
from memories.api.inputs import namespace_form
from memories.ingest.files import Message
from memories.ingest.messages import PreparedMessages, keep_messages, prepare_messages

TEXT_LIMIT = 1_000_000


class MessageInput(Strict):
    """One turn of a conversation."""

    role = serializers.ChoiceField(["user", "assistant", "tool", "system"])
    content = Text(max_length=100_000, allow_blank=True, trim_whitespace=False)
    at = Moment(required=False, allow_null=True)
    id = Text(max_length=255, required=False)


class IngestInput(AboutUser):
    """A conversation or a text."""

    namespace = Text(validators=[namespace_form])
    messages = serializers.ListField(child=MessageInput(), required=False, min_length=1, max_length=1000)
    text = Text(max_length=TEXT_LIMIT, required=False, allow_blank=True, trim_whitespace=False)
    source = Text(max_length=255, required=False)
    conversation_id = Text(max_length=255, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Messages or a text."""
        if ("messages" in attrs) == ("text" in attrs):
            raise serializers.ValidationError({"messages": ["Give either messages or text."]})
        return attrs


class SkippedAnswer(serializers.Serializer[Any]):
    """A message that was not kept."""

    index = serializers.IntegerField()
    reason = serializers.CharField()


class IngestAnswer(serializers.Serializer[Any]):
    """What was stored and what was skipped."""

    stored = StoredAnswer(many=True)
    skipped = SkippedAnswer(many=True)


def messages_of(values: dict[str, Any]) -> list[Message]:
    """The messages of a validated request."""
    conversation = values.get("conversation_id")
    if "text" in values:
        return [
            Message(
                role="document",
                content=values["text"],
                at=None,
                source_id=values.get("source"),
                conversation_id=conversation,
                sequence=None,
                kind="text",
                speaker=None,
            )
        ]
    return [
        Message(
            role=message["role"],
            content=message["content"],
            at=message.get("at"),
            source_id=message.get("id"),
            conversation_id=conversation,
            sequence=sequence,
            kind="message",
            speaker=None,
            attested=message["role"] == "user",
        )
        for sequence, message in enumerate(values.get("messages", []))
    ]


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
            report = keep_messages(principal, work, now=timezone.now())
            skipped = [{"index": skip.index, "reason": skip.reason} for skip in report.skipped]
            data = {"stored": stored_answer(principal, report.stored), "skipped": skipped}
            return IdempotentAnswer(201, data, [admission.fragment.id for admission in report.stored])

        answer = answer_once(
            request,
            prepare=lambda: prepare_messages(principal, messages_of(values), namespace=values["namespace"]),
            effect=effect,
        )
        return with_capacity(principal, answer, stored=len(answer.data["stored"]))
