"""What an assistant said, read out of the bytes that passed. Pure."""

import json
from collections.abc import Callable
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


@dataclass(frozen=True, slots=True)
class ReplyReader:
    """Where a format has the text: of a whole answer, of an event of a stream, and which event is a stream's last.

    They may fail in any way on anything of another shape, which says nothing then.
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
        return AssistantAnswer(_said(self.whole, answer), partial=False)

    def _streamed(self, body: bytes) -> AssistantAnswer:
        """Return the pieces of a stream put together; broken events are passed over, an endless one ends it."""
        texts: list[str] = []
        question = httpx2.Request("POST", "http://upstream")  # the library wants to know one
        response = httpx2.Response(200, headers={"Content-Type": "text/event-stream"}, content=body, request=question)
        with suppress(httpx2.SSEError):
            for event in httpx2.EventSource(response):
                if event.data.strip() == DONE:
                    return AssistantAnswer("".join(texts), partial=False)
                with suppress(ValueError, RecursionError):
                    told = json.loads(event.data)
                    texts.append(_said(self.piece, told))
                    if isinstance(told, dict) and self.ends(told):
                        return AssistantAnswer("".join(texts), partial=False)
        return AssistantAnswer("".join(texts), partial=True)


def _said(read: Callable[[Any], str], told: Any) -> str:
    try:
        text = read(told)
    except (KeyError, TypeError, AttributeError, IndexError):
        return ""
    return text if isinstance(text, str) else ""
