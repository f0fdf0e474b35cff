"""What an assistant said, read out of the bytes that passed. Pure."""

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2

DONE = "[DONE]"


@dataclass(frozen=True, slots=True)
class AssistantAnswer:
    """The text of an answer, and whether its end is missing."""

    text: str
    partial: bool


def answer_text(body: bytes, *, content_type: str) -> AssistantAnswer:
    """Return what the first choice of a chat completion says, streamed or whole."""
    if content_type.partition(";")[0].strip().lower() == "text/event-stream":
        return _streamed(body)
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return AssistantAnswer("", partial=True)
    return AssistantAnswer(_text(answer, "message"), partial=False)


def _streamed(body: bytes) -> AssistantAnswer:
    """Return the deltas of a stream put together; broken events are passed over, an endless one ends it."""
    texts: list[str] = []
    question = httpx2.Request("POST", "http://upstream")  # the library wants to know one
    response = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=body, request=question)
    with suppress(httpx2.SSEError):
        for event in httpx2.EventSource(response):
            if event.data.strip() == DONE:
                return AssistantAnswer("".join(texts), partial=False)
            with suppress(ValueError, RecursionError):
                texts.append(_text(json.loads(event.data), "delta"))
    return AssistantAnswer("".join(texts), partial=True)


def _text(answer: Any, part: str) -> str:
    """`choices[index 0].message|delta.content`, "" for anything of another shape."""
    try:
        choices = [choice for choice in answer["choices"] if choice.get("index", 0) == 0]
        content = choices[0][part]["content"]
    except (KeyError, TypeError, AttributeError, IndexError):
        return ""
    return content if isinstance(content, str) else ""
