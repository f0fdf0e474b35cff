"""A chat as it was asked, whatever format it came in: what the question is, what was said anew. Pure."""

import hashlib
import json
from abc import ABC, abstractmethod
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
IN_BODY = ("user", "safety_identifier")  # what OpenAI's clients say of whose chat it is
TEXTS = ("text", "input_text", "output_text")  # types of parts
# The fields of a message that is the user's own: a `name` says that somebody else speaks.
PLAIN = {"role", "content"}
HEARD = {"user": "user", "tool": "tool", "function": "tool"}
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt(ABC):
    """A valid request, as Python values and as it came, with the chat so far as messages of roles and contents.

    `before` names what the upstream remembers in front of them.
    """

    body: dict[str, Any]
    raw: bytes
    messages: list[Message]
    before: str = ""

    @property
    def question(self) -> str:
        """What the last user message asks; "" without one."""
        texts = [message_text(message) for message in reversed(self.messages) if message["role"] == "user"]
        text = without_blocks(texts[0]).strip() if texts else ""
        return text if len(text) <= QUESTION else f"{text[: QUESTION // 2]}\n{text[-QUESTION // 2 :]}"

    @property
    def named_users(self) -> list[tuple[str, Any]]:
        """Return what the body says of whose chat it is, by the names of its fields; the first that says it counts."""
        return [(name, self.body.get(name)) for name in IN_BODY]

    @abstractmethod
    def with_block(self, block: str, *, place: str) -> bytes:
        """Return the request with a context block behind the last user message or, in `place` system, the instructions.

        Behind: what came before stays the same, and so does the provider's cache of it (docs/decisions/0040). Raise
        ValueError for numbers that JSON has not.
        """

    def news(self) -> list[CapturedTurn]:
        """What was said since the assistant last spoke: by the user and by tools, without blocks that were handed out.

        A turn's `source_id` is a digest of the chat up to it, so that a request that is repeated is no news.
        """
        turns: list[CapturedTurn] = []
        digest = self._beginning
        material = flag_material((message["role"], clean(message_text(message))) for message in self.messages)
        for sequence, message in enumerate(self.messages):
            digest = _digest(digest, message)
            if message["role"] == "assistant":
                turns = []
            elif role := HEARD.get(message["role"]):
                text = message_text(message)
                bare = without_blocks(text)
                own = role == "user" and bare == text and _is_one_text(message) and message.keys() == PLAIN
                # What the upstream remembers in front of it may have announced somebody else's text.
                attested = own and not (material[sequence - 1] if sequence else self.before)
                turns.append(CapturedTurn(role, bare, digest.hex(), sequence, attested=attested))
        return turns

    @property
    def spoken(self) -> Spoken:
        """All turns of it, as captures of this chat name them and as their texts are kept."""
        digests, digest = set(), self._beginning
        for message in self.messages:
            digest = _digest(digest, message)
            digests.add(digest.hex())
        pieces = (piece for message in self.messages for piece in split(without_blocks(message_text(message))))
        return Spoken(frozenset(digests), frozenset(map(plain, pieces)))

    def reply(self, text: str, *, partial: bool) -> CapturedTurn:
        """Return the assistant's turn that answers."""
        digest = self._beginning
        for message in self.messages:
            digest = _digest(digest, message)
        last = _digest(digest, {"role": "assistant", "content": text})
        return CapturedTurn("assistant", without_blocks(text), last.hex(), len(self.messages), partial=partial)

    @property
    def _beginning(self) -> bytes:
        return hashlib.sha256(self.before.encode()).digest() if self.before else b""


def _digest(before: bytes, message: Message) -> bytes:
    if message["role"] == "assistant":  # clients send it back with fields of their own
        calls = {"tool_calls": message["tool_calls"]} if message.get("tool_calls") else {}
        message = {"role": "assistant", "content": message_text(message), **calls}
    return hashlib.sha256(before + json.dumps(message, sort_keys=True).encode()).digest()


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the object in a body. Raise ProxyRefused (400)."""
    try:
        body = json.loads(raw, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ProxyRefused(400, "invalid_json", "The body is not JSON.") from error
    if not isinstance(body, dict):
        raise ProxyRefused(400, "invalid_type", "The body has to be an object.")
    return body


def json_bytes(body: Mapping[str, Any]) -> bytes:
    """Return a body as it is sent. Raise ValueError for numbers that JSON has not."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()


def is_content(content: object) -> bool:
    """Return whether something is a text or a list of parts."""
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(part, dict) for part in content))


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message: its content, or the text parts of it."""
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type", "text") in TEXTS]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _is_one_text(message: Mapping[str, Any]) -> bool:
    """Return whether a message is one text: files and pasted pages come as parts beside it."""
    content = message.get("content")
    return isinstance(content, str) or (isinstance(content, list) and len(content) == 1)


def append_block(content: str | list[Any], block: str, *, part: str = "text") -> str | list[Any]:
    """Return a content with the block behind it: a paragraph, or a part of that type."""
    if isinstance(content, list):
        return [*content, {"type": part, "text": block}]
    return f"{content}\n\n{block}" if content else block
