"""Anthropic's messages: `messages` of blocks, with the results of tools in the user's, answered by `content`. Pure."""

import json
import re
from contextlib import suppress
from typing import Any

from memories.proxy.errors import ProxyRefused
from memories.proxy.formats.answers import ReplyReader
from memories.proxy.prompts import Message, Prompt, append_block, is_content, json_bytes, json_object, message_text

RESULT, REMINDER = "tool_result", "<system-reminder>"
SESSION = re.compile(r"(user_\w+?)_session_[\w-]+", re.ASCII)


class AnthropicPrompt(Prompt):
    """A request for a message."""

    __slots__ = ()

    @property
    def named_users(self) -> list[tuple[str, Any]]:
        """Return what its metadata says; see Prompt."""
        metadata = self.body.get("metadata")
        return [("metadata.user_id", _user_of(metadata.get("user_id")) if isinstance(metadata, dict) else None)]

    def with_block(self, block: str, *, place: str) -> bytes:
        """Return it with a context block; see Prompt."""
        if place == "system":
            return json_bytes({**self.body, "system": append_block(self.body.get("system") or "", block)})
        messages = list(self.body["messages"])
        last = max(n for n, each in enumerate(messages) if any(map(_speaks, _turns(each))))
        messages[last] = {**messages[last], "content": append_block(messages[last]["content"], block)}
        return json_bytes({**self.body, "messages": messages})


def prompt_of(raw: bytes) -> AnthropicPrompt:
    """Return the request in a body. Raise ProxyRefused (400) for one of another shape."""
    body = json_object(raw)
    messages = body.get("messages")
    if not isinstance(messages, list) or not all(_is_message(message) for message in messages):
        raise ProxyRefused(400, "invalid_type", "messages have roles and contents.", param="messages")
    system = body.get("system")
    if system is not None and not is_content(system):
        raise ProxyRefused(400, "invalid_type", "system is a text or a list of blocks.", param="system")
    return AnthropicPrompt(body, raw, [turn for message in messages for turn in _turns(message)])


def _is_message(message: object) -> bool:
    return isinstance(message, dict) and isinstance(message.get("role"), str) and is_content(message.get("content"))


def _user_of(user_id: Any) -> Any:
    """Return whose chat it is. Claude Code also says which session: its user is the same in all of them."""
    if not isinstance(user_id, str):
        return user_id
    if found := SESSION.fullmatch(user_id):
        return found[1]
    with suppress(ValueError, RecursionError):
        parts = json.loads(user_id)
        if isinstance(parts, dict) and "session_id" in parts:
            return parts.get("account_uuid") or parts.get("device_id") or user_id
    return user_id


def _speaks(turn: Message) -> bool:
    return turn["role"] == "user" and bool(message_text(turn))


def _turns(message: Message) -> list[Message]:
    """Return a message as the turns that it holds: what tools answered stands in one with what the user says."""
    role, content = message["role"], message["content"]
    if isinstance(content, str):
        return [message]
    # Where the provider's cache ends moves from request to request.
    blocks = [{name: value for name, value in block.items() if name != "cache_control"} for block in content]
    if role == "assistant":
        calls = [block for block in blocks if block.get("type") not in ("text", "thinking", "redacted_thinking")]
        texts = [block for block in blocks if block.get("type") == "text"]
        return [{"role": role, "content": texts, **({"tool_calls": calls} if calls else {})}]
    results = [block for block in blocks if block.get("type") == RESULT]
    others = [block for block in blocks if block.get("type") != RESULT and not _reminds(block)]
    turns = [{"role": "tool", "content": _content(block), "call": block.get("tool_use_id")} for block in results]
    if results and others:  # what a program writes beside a result is not plainly the user's word
        return [*turns, {"role": role, "content": others, "beside": RESULT}]
    return turns or [{"role": role, "content": others}]


def _reminds(block: Message) -> bool:
    """Return whether a block is what Claude Code tells the model in the user's place: nobody said it."""
    text = block.get("text")
    return isinstance(text, str) and text.lstrip().startswith(REMINDER)


def _content(block: Message) -> Any:
    content = block.get("content")
    return content if is_content(content) else ""


def _piece(event: Any) -> str:
    text = event["delta"]["text"] if event["type"] == "content_block_delta" else ""
    return text if isinstance(text, str) else ""


ANSWER = ReplyReader(
    whole=lambda answer: "".join(block["text"] for block in answer["content"] if block["type"] == "text"),
    piece=_piece,
    ends=lambda event: event.get("type") == "message_stop",
)
