"""A chat completion request: what is asked in it, how memory is put into it, what was said anew. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memories.extraction import flag_material
from memories.ingest.captures import CapturedTurn
from memories.ingest.chunking import clean, split
from memories.proxy.errors import ProxyRefused
from memories.retrieval import Spoken, plain
from memories.retrieval.context import without_blocks
from memories.strict_json import refuse_constant

QUESTION = 4000  # characters of a long message that are looked up: its beginning and its end
SYSTEM_ROLES = ("system", "developer")
# The fields of a message that is the user's own: a `name` says that somebody else speaks.
PLAIN = {"role", "content"}
HEARD = {"user": "user", "tool": "tool", "function": "tool"}
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """A valid request, as Python values and as it came."""

    body: dict[str, Any]
    raw: bytes

    @property
    def messages(self) -> list[Message]:
        """The chat so far."""
        messages: list[Message] = self.body["messages"]
        return messages

    @property
    def question(self) -> str:
        """What the last user message asks; "" without one."""
        texts = [message_text(message) for message in reversed(self.messages) if message["role"] == "user"]
        text = without_blocks(texts[0]).strip() if texts else ""
        return text if len(text) <= QUESTION else f"{text[: QUESTION // 2]}\n{text[-QUESTION // 2 :]}"

    def with_block(self, block: str, *, place: str) -> bytes:
        """The request with a context block behind the last user message or, in `place` system, the system message.

        Behind: what came before stays the same, and so does the provider's cache of it (docs/decisions/0040). Raises
        ValueError for numbers that JSON has not.
        """
        messages = list(self.messages)
        roles = SYSTEM_ROLES if place == "system" else ("user",)
        found = [index for index, message in enumerate(messages) if message["role"] in roles]
        if found:
            index = found[0] if place == "system" else found[-1]
            messages[index] = {**messages[index], "content": append_block(messages[index]["content"], block)}
        else:
            messages.insert(0, {"role": "system", "content": block})
        return json.dumps({**self.body, "messages": messages}, allow_nan=False, separators=(",", ":")).encode()

    def news(self) -> list[CapturedTurn]:
        """What was said since the assistant last spoke: by the user and by tools, without blocks that were handed out.

        A turn's `source_id` is a digest of the chat up to it, so that a request that is repeated is no news.
        """
        turns: list[CapturedTurn] = []
        digest = b""
        material = flag_material((message["role"], clean(message_text(message))) for message in self.messages)
        for sequence, message in enumerate(self.messages):
            digest = _digest(digest, message)
            if message["role"] == "assistant":
                turns = []
            elif role := HEARD.get(message["role"]):
                text = message_text(message)
                bare = without_blocks(text)
                own = role == "user" and bare == text and _is_one_text(message) and message.keys() == PLAIN
                attested = own and not (sequence and material[sequence - 1])
                turns.append(CapturedTurn(role, bare, digest.hex(), sequence, attested=attested))
        return turns

    @property
    def spoken(self) -> Spoken:
        """All turns of it, as captures of this chat name them and as their texts are kept."""
        digests, digest = set(), b""
        for message in self.messages:
            digest = _digest(digest, message)
            digests.add(digest.hex())
        pieces = (piece for message in self.messages for piece in split(without_blocks(message_text(message))))
        return Spoken(frozenset(digests), frozenset(map(plain, pieces)))

    def reply(self, text: str, *, partial: bool) -> CapturedTurn:
        """Return the assistant's turn that answers."""
        digest = b""
        for message in self.messages:
            digest = _digest(digest, message)
        last = _digest(digest, {"role": "assistant", "content": text})
        return CapturedTurn("assistant", without_blocks(text), last.hex(), len(self.messages), partial=partial)


def _digest(before: bytes, message: Message) -> bytes:
    if message["role"] == "assistant":  # clients send it back with fields of their own
        calls = {"tool_calls": message["tool_calls"]} if message.get("tool_calls") else {}
        message = {"role": "assistant", "content": message_text(message), **calls}
    return hashlib.sha256(before + json.dumps(message, sort_keys=True).encode()).digest()


def prompt_of(raw: bytes) -> Prompt:
    """Return the request in a body. Raise Refused (400)."""
    try:
        body = json.loads(raw, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProxyRefused(400, "invalid_json", "The body is not JSON.") from error
    if not isinstance(body, dict):
        raise ProxyRefused(400, "invalid_type", "The body has to be an object.")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ProxyRefused(
            400, "missing_required_parameter", "Give messages: a list of at least one.", param="messages"
        )
    for index, message in enumerate(messages):
        _check(message, f"messages[{index}]")
    return Prompt(body, raw)


def _check(message: object, place: str) -> None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        raise ProxyRefused(400, "invalid_type", f"{place} has to be an object with a role.", param=place)
    content = message.get("content")
    if content is None and message["role"] in ("assistant", "function"):
        return  # it calls tools, or refuses
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return
    if not isinstance(content, str):
        place = f"{place}.content"
        raise ProxyRefused(400, "invalid_type", f"{place} has to be a string or a list of parts.", param=place)


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or the text parts of it."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type", "text") in ("text", "input_text")]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _is_one_text(message: Mapping[str, Any]) -> bool:
    """Return whether a message is one text: files and pasted pages come as parts beside it."""
    content = message.get("content")
    return isinstance(content, str) or (isinstance(content, list) and len(content) == 1)


def append_block(content: str | list[Any], block: str) -> str | list[Any]:
    """Return a content with the block behind it: a paragraph, or a text part."""
    if isinstance(content, list):
        return [*content, {"type": "text", "text": block}]
    return f"{content}\n\n{block}" if content else block
