"""Forms of conversations and documents that are ingested."""

from typing import Any

from rest_framework import serializers

from memories.ingest.files import Message
from memories.rest.fields import AboutUser, Moment, Strict, Text
from memories.rest.inputs import namespace_form

TEXT_LIMIT = 1_000_000
GOES_ON = "Its turns stand behind those that it holds already, whoever told them."


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
    conversation_id = Text(max_length=255, required=False, help_text=GOES_ON)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Messages or a text."""
        if ("messages" in attrs) == ("text" in attrs):
            raise serializers.ValidationError({"messages": ["Give either messages or text."]})
        return attrs


def messages_of(values: dict[str, Any]) -> list[Message]:
    """Return the messages of a validated request."""
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
            sequence=None,
            kind="message",
            speaker=None,
            attested=message["role"] == "user",
        )
        for message in values.get("messages", [])
    ]
