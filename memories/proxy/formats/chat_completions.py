"""OpenAI's chat completions: `messages`, answered by `choices`. Pure."""

from typing import Any

from memories.proxy.errors import ProxyRefused
from memories.proxy.formats.answers import ReplyReader
from memories.proxy.prompts import Prompt, append_block, is_content, json_bytes, json_object

SYSTEM_ROLES = ("system", "developer")


class ChatPrompt(Prompt):
    """A request for a chat completion."""

    __slots__ = ()

    def with_block(self, block: str, *, place: str) -> bytes:
        """Return it with a context block; see Prompt."""
        messages = list(self.messages)
        roles = SYSTEM_ROLES if place == "system" else ("user",)
        found = [index for index, message in enumerate(messages) if message["role"] in roles]
        if found:
            index = found[0] if place == "system" else found[-1]
            messages[index] = {**messages[index], "content": append_block(messages[index]["content"], block)}
        else:
            messages.insert(0, {"role": "system", "content": block})
        return json_bytes({**self.body, "messages": messages})


def prompt_of(raw: bytes) -> ChatPrompt:
    """Return the request in a body. Raise ProxyRefused (400)."""
    body = json_object(raw)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ProxyRefused(
            400, "missing_required_parameter", "Give messages: a list of at least one.", param="messages"
        )
    for index, message in enumerate(messages):
        _check(message, f"messages[{index}]")
    return ChatPrompt(body, raw, messages)


def _check(message: object, place: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ProxyRefused(400, "invalid_type", f"{place} has to be an object with a role.", param=place)
    content = message.get("content")
    if content is None and message["role"] in ("assistant", "function"):
        return  # it calls tools, or refuses
    if not is_content(content):
        place = f"{place}.content"
        raise ProxyRefused(400, "invalid_type", f"{place} has to be a string or a list of parts.", param=place)


def _text(answer: Any, part: str) -> str:
    """`choices[index 0].message|delta.content`."""
    choices = [choice for choice in answer["choices"] if choice.get("index", 0) == 0]
    return choices[0][part]["content"] or ""


ANSWER = ReplyReader(
    whole=lambda answer: _text(answer, "message"), piece=lambda event: _text(event, "delta"), ends=lambda event: False
)
