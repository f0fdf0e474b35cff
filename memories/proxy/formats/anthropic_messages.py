"""Anthropic's messages: `messages` of blocks, with the results of tools in the user's, answered by `content`. Pure."""

import hashlib
import json
from contextlib import suppress
from typing import Any

from memories.proxy.errors import ProxyRefused
from memories.proxy.formats.answers import BREAK, ReplyReader, parted
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

RESULT = "tool_result"
REMINDER, ENDED = "<system-reminder>", "</system-reminder>"
SESSION = "_session_"
LONGEST = 255  # characters of a user


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


def _user_of(user_id: Any) -> str | None:
    """Return whose chat it is. Claude Code also says which session: its user is the same in all of them."""
    if not isinstance(user_id, str) or not user_id:
        return None
    if len(user_id) > 2 * LONGEST:
        return hashlib.sha256(user_id.encode(errors="replace")).hexdigest()
    if user_id.startswith("user_") and SESSION in user_id:
        user_id = user_id.rpartition(SESSION)[0]
    with suppress(ValueError, RecursionError):
        parts = json.loads(user_id)
        if isinstance(parts, dict) and "session_id" in parts:
            ids = (parts.get("account_uuid"), parts.get("device_id"))
            user_id = next((each for each in ids if isinstance(each, str) and each), user_id)
    return user_id if len(user_id) <= LONGEST else hashlib.sha256(user_id.encode(errors="replace")).hexdigest()


def _speaks(turn: Message) -> bool:
    return turn["role"] == "user" and bool(message_text(turn))


def _turns(message: Message) -> list[Message]:
    """Return a message as the turns that it holds: what tools answered stands in one with what the user says."""
    role, content = message["role"], message["content"]
    given = [{"type": "text", "text": content}] if isinstance(content, str) else content
    # Where the provider's cache ends moves from request to request.
    blocks = [{name: value for name, value in block.items() if name != "cache_control"} for block in given]
    if role == "assistant":
        calls = [block for block in blocks if block.get("type") not in ("text", "thinking", "redacted_thinking")]
        return [{"role": role, "content": parted(_text_of(blocks)), **({"tool_calls": calls} if calls else {})}]
    results = [block for block in blocks if block.get("type") == RESULT]
    others = [block for block in blocks if block.get("type") != RESULT]
    own = [kept for block in others if (kept := _without_programs(block))]
    turns = [{"role": "tool", "content": _content(block), "call": block.get("tool_use_id")} for block in results]
    if not own and blocks:
        return turns
    said: Message = {**message, "content": own[0]["text"] if len(own) == 1 and _is_text(own[0]) else own}
    # What a program writes beside it or into it is not plainly the user's word.
    mixed = bool(results) or any(block is not kept for block, kept in zip(others, own, strict=False) if _is_text(block))
    return [*turns, {**said, "beside": True} if mixed else said]


def _is_text(block: Message) -> bool:
    return block.keys() == {"type", "text"} and isinstance(block["text"], str)


def _without_programs(block: Message) -> Message | None:
    """Return a block without what a program tells the model in the user's place; None for one that is nothing else."""
    text = block.get("text")
    if not isinstance(text, str):
        return block
    own = _without_reminders(text) if REMINDER in text else text
    if is_of_a_program(own) or (text.strip() and not own.strip()):
        return None
    return block if own == text else {**block, "text": own.strip()}


def _without_reminders(text: str) -> str:
    own, begin = [], 0
    while (opened := text.find(REMINDER, begin)) >= 0 and (ended := text.find(ENDED, opened)) >= 0:
        own.append(text[begin:opened])
        begin = ended + len(ENDED)
    return "".join([*own, text[begin:]])


def _text_of(blocks: Any) -> str:
    """Return the texts: those that follow each other are one, as where sources are named between."""
    return "".join(map(_text_or_break, blocks))


def _text_or_break(block: Any) -> str:
    text = block.get("text") if block.get("type") == "text" else None
    return text if isinstance(text, str) else BREAK


def _content(block: Message) -> Any:
    content = block.get("content")
    return content if is_content(content) else ""


def _piece(event: Any) -> str:
    if event["type"] == "content_block_start":
        return "" if event["content_block"]["type"] == "text" else BREAK
    return str(event["delta"]["text"]) if event["type"] == "content_block_delta" else ""


ANSWER = ReplyReader(
    whole=lambda answer: _text_of(answer["content"]),
    piece=_piece,
    ends=lambda event: event.get("type") == "message_stop",
)
