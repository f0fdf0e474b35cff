"""What an assistant said, read out of the bytes that passed. Pure."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx2

DONE = "[DONE]"
BREAK = "\0"  # in a text that is read: something else stood there, or another part began


@dataclass(frozen=True, slots=True)
class AssistantAnswer:
    """The text of an answer, and whether its end is missing."""

    text: str
    partial: bool


@dataclass(frozen=True, slots=True)
class ReplyReader:
    """Where a format has the text: of a whole answer, of an event of a stream, and which event is a stream's last.

    They may fail in any way on anything of another shape, which says nothing then. BREAK parts what they return.
    """

    whole: Callable[[Any], str]
    piece: Callable[[Any], str]
    ends: Callable[[Any], bool]

    def read(self, body: bytes, *, content_type: str) -> AssistantAnswer:
        """Return what an answer says, streamed or whole."""
        if content_type.partition(";")[0].strip().lower() == "text/event-stream":
            return self._streamed(body)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            return AssistantAnswer("", partial=True)
        return AssistantAnswer(parted(_said(self.whole, answer)), partial=False)

    def _streamed(self, body: bytes) -> AssistantAnswer:
        """Return the pieces of a stream put together; broken events are passed over, an endless one ends it."""
        texts: list[str] = []
        question = httpx2.Request("POST", "http://upstream")  # the library wants to know one
        response = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=body, request=question)
        with suppress(httpx2.SSEError):
            for event in httpx2.EventSource(response):
                if event.data.strip() == DONE:
                    return AssistantAnswer(parted("".join(texts)), partial=False)
                with suppress(ValueError, RecursionError):
                    told = json.loads(event.data)
                    texts.append(_said(self.piece, told))
                    if isinstance(told, dict) and self.ends(told):
                        return AssistantAnswer(parted("".join(texts)), partial=False)
        return AssistantAnswer(parted("".join(texts)), partial=True)


def parted(text: str) -> str:
    """Return a text of several parts, each on a line of its own."""
    return "\n".join(filter(None, text.split(BREAK)))


def _said(read: Callable[[Any], str], told: Any) -> str:
    try:
        text = read(told)
    except (KeyError, TypeError, AttributeError, IndexError):
        return ""
    return text if isinstance(text, str) else ""
