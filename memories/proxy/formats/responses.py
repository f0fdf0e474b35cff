"""OpenAI's responses: `input`, answered by `output`. Pure."""

import uuid
from typing import Any

from memories.proxy.errors import ProxyRefused
from memories.proxy.formats.answers import BREAK, ReplyReader
from memories.proxy.prompts import (
    Message,
    Prompt,
    append_block,
    is_content,
    is_of_a_program,
    json_bytes,
    json_object,
    message_text,
)

# Items that are no turn of anybody: what the model thought, what lets it go on.
NO_TURNS = ("reasoning", "mcp_approval_response", "compaction_trigger")
UNSEEN = ("item_reference", "compaction")  # that stand for turns
OF_AN_ITEM = ("type", "id", "status")


class ResponsesPrompt(Prompt):
    """A request for a response."""

    __slots__ = ()

    @property
    def named_users(self) -> list[tuple[str, Any]]:
        """Return what the body says, see Prompt; nothing is nobody."""
        return [(name, value if value != "" else None) for name, value in super().named_users]

    def with_block(self, block: str, *, place: str) -> bytes:
        """Return it with a context block; see Prompt."""
        if place == "system":
            instructions = append_block(self.body.get("instructions") or "", block, part="input_text")
            return json_bytes({**self.body, "instructions": instructions})
        given = self.body["input"]
        if isinstance(given, str):
            return json_bytes({**self.body, "input": append_block(given, block)})
        turns = list(map(_message, given))
        last = max(index for index, turn in enumerate(turns) if turn and turn["role"] == "user" and message_text(turn))
        told = {**given[last], "content": append_block(given[last]["content"], block, part="input_text")}
        return json_bytes({**self.body, "input": [*given[:last], told, *given[last + 1 :]]})


def prompt_of(raw: bytes) -> ResponsesPrompt:
    """Return the request in a body. Raise ProxyRefused (400) for one of another shape."""
    body = json_object(raw)
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ProxyRefused(400, "invalid_type", "input has to be a string or a list of items.", param="input")
    before = _before(body)
    return ResponsesPrompt(body, raw, _messages(items), before, unseen=bool(before or body.get("prompt")))


def _before(body: dict[str, Any]) -> str:
    """Return the id of what the upstream remembers of the chat.

    A conversation has the same one at each of its turns, so that what is said twice in it would be known from before.
    """
    if previous := body.get("previous_response_id"):
        return str(previous)
    return f"conversation {uuid.uuid4()}" if body.get("conversation") else ""


def _messages(items: list[dict[str, Any]]) -> list[Message]:
    """Return the turns; what the model does one after the other is one."""
    messages: list[Message] = []
    for message in filter(None, map(_message, items)):
        last = messages[-1] if messages else {}
        if message["role"] == last.get("role") == "assistant":
            said = "\n".join(filter(None, (message_text(last), message_text(message))))
            calls = [*last.get("tool_calls", []), *message.get("tool_calls", [])]
            unseen = message.get("unseen", False)
            messages[-1] = {"role": "assistant", "content": said, "tool_calls": calls, "unseen": unseen}
        else:
            messages.append(message)
    return messages


def _message(item: dict[str, Any]) -> Message | None:
    """Return an item as a message, None for what nobody said."""
    kind = item.get("type") or "message"
    if not isinstance(kind, str) or kind in NO_TURNS:
        return None
    if kind == "message":
        if not isinstance(item.get("role"), str) or not is_content(item.get("content")):
            raise ProxyRefused(400, "invalid_type", "A message has a role and a content.", param="input")
        message = {name: value for name, value in item.items() if name not in OF_AN_ITEM}
        if item["role"] == "assistant" and isinstance(item["content"], list):
            texts = (part.get("text") for part in item["content"])
            message["content"] = "".join(text for text in texts if isinstance(text, str))
        return None if item["role"] == "user" and is_of_a_program(message_text(message)) else message
    if kind.endswith("_output"):
        output = item.get("output")
        return {"role": "tool", "content": output if is_content(output) else "", "call": item.get("call_id")}
    return {"role": "assistant", "content": "", "tool_calls": [item], "unseen": kind in UNSEEN}


def _whole(answer: Any) -> str:
    """`output[type message].content[type output_text].text`."""
    return BREAK.join(map(_text_of, answer["output"]))


def _text_of(item: Any) -> str:
    parts = item["content"] if item["type"] == "message" else []
    return "".join(part["text"] for part in parts if part["type"] == "output_text")


def _piece(event: Any) -> str:
    if event["type"] == "response.output_item.added":
        return BREAK
    return str(event["delta"]) if event["type"] == "response.output_text.delta" else ""


ANSWER = ReplyReader(
    whole=_whole,
    piece=_piece,
    ends=lambda event: event.get("type") in ("response.completed", "response.incomplete"),
)
