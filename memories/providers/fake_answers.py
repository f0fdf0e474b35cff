"""Whole answers and streams of the formats that the fake upstream speaks beside chat completions. Deterministic."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memories.providers import fake_streams

NAME, ARGUMENTS = "weather", ('{"city": ', '"Lisbon"}')
USAGE = {"input_tokens": 1, "output_tokens": 1}


@dataclass(frozen=True, slots=True)
class FakeFormat:
    """`whole(text, calls=)` is an answer, `events(text)` a stream that says it, `tool_events()` one that calls."""

    whole: Callable[..., dict[str, Any]]
    events: Callable[[str], list[bytes]]
    tool_events: Callable[[], list[bytes]]


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more}, ensure_ascii=False)}\n\n".encode()


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word + (" " if number < len(words) else "") for number, word in enumerate(words, start=1)]


def _response(*output: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "usage": {**USAGE, "total_tokens": 2}}
    head = {"id": "resp_fake", "object": "response", "created_at": 0, "model": "fake"}
    return {**head, "status": status, "output": list(output), **more}


def _said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_fake", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


CALL = {"id": "fc_fake", "type": "function_call", "call_id": "call_1", "name": NAME, "arguments": "".join(ARGUMENTS)}
THOUGHT = {"id": "rs_fake", "type": "reasoning", "summary": []}


def response(text: str, *, calls: bool) -> dict[str, Any]:
    """Return a whole response of OpenAI's, which thought before it spoke."""
    return _response(THOUGHT, CALL if calls else _said(text))


def response_events(text: str) -> list[bytes]:
    """Return it word by word."""
    at = {"item_id": "msg_fake", "output_index": 1, "content_index": 0}
    part = {"type": "output_text", "text": text, "annotations": []}
    return [
        _event("response.created", response=_response(status="in_progress")),
        _event("response.output_item.added", output_index=1, item={**_said(""), "content": []}),
        _event("response.content_part.added", **at, part={**part, "text": ""}),
        *(_event("response.output_text.delta", **at, delta=word, logprobs=[]) for word in _words(text)),
        _event("response.output_text.done", **at, text=text, logprobs=[]),
        _event("response.content_part.done", **at, part=part),
        _event("response.output_item.done", output_index=1, item=_said(text)),
        _event("response.completed", response=response(text, calls=False)),
    ]


def response_tool_events() -> list[bytes]:
    """Return a call whose arguments come in two halves."""
    at = {"item_id": "fc_fake", "output_index": 1}
    return [
        _event("response.created", response=_response(status="in_progress")),
        _event("response.output_item.added", output_index=1, item={**CALL, "arguments": ""}),
        *(_event("response.function_call_arguments.delta", **at, delta=half) for half in ARGUMENTS),
        _event("response.function_call_arguments.done", **at, arguments="".join(ARGUMENTS)),
        _event("response.output_item.done", output_index=1, item=CALL),
        _event("response.completed", response=response("", calls=True)),
    ]


USE = {"type": "tool_use", "id": "toolu_1", "name": NAME, "input": json.loads("".join(ARGUMENTS))}


def message(text: str, *, calls: bool) -> dict[str, Any]:
    """Return a whole message of Anthropic's."""
    content = [USE] if calls else [{"type": "text", "text": text}]
    head = {"id": "msg_fake", "type": "message", "role": "assistant", "model": "fake", "content": content}
    return {**head, "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": USAGE}


def _message_events(block: dict[str, Any], deltas: list[dict[str, Any]], *, stop: str) -> list[bytes]:
    begun = {**message("", calls=False), "content": [], "stop_reason": None}
    return [
        _event("message_start", message=begun),
        _event("content_block_start", index=0, content_block=block),
        *(_event("content_block_delta", index=0, delta=delta) for delta in deltas),
        _event("content_block_stop", index=0),
        _event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 1}),
        _event("message_stop"),
    ]


def message_events(text: str) -> list[bytes]:
    """Return it word by word."""
    deltas = [{"type": "text_delta", "text": word} for word in _words(text)]
    return _message_events({"type": "text", "text": ""}, deltas, stop="end_turn")


def message_tool_events() -> list[bytes]:
    """Return a call whose arguments come in two halves."""
    deltas = [{"type": "input_json_delta", "partial_json": half} for half in ARGUMENTS]
    return _message_events({**USE, "input": {}}, deltas, stop="tool_use")


# By the path that asks for them.
FORMATS = {
    "/v1/chat/completions": FakeFormat(fake_streams.completion, fake_streams.events, fake_streams.tool_events),
    "/v1/responses": FakeFormat(response, response_events, response_tool_events),
    "/v1/messages": FakeFormat(message, message_events, message_tool_events),
}
