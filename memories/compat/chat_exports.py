"""What ChatGPT and Claude export of somebody's chats, as messages: the zip as it comes, or its JSON."""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memories.ingest.files import Malformed, Message, at_place, message_of

FILE = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
LARGEST = 1 << 30  # bytes of JSON, unpacked: years of chats
SENDERS = {"human": "user", "assistant": "assistant"}
SPOKEN = ("text", "multimodal_text")  # not what a tool ran or a model thought


def chatgpt(path: Path) -> Iterator[list[Message]]:
    """Return each chat, as it stands in the window: of turns that were asked anew the last ones. Raise Malformed."""
    for number, chat in enumerate(_conversations(path), start=1):
        with at_place(f"conversation {number}"):
            yield list(_messages(_visible(chat), name=_named(chat, "conversation_id", "id")))


def claude(path: Path) -> Iterator[list[Message]]:
    """Return each chat. Raise Malformed."""
    for number, chat in enumerate(_conversations(path), start=1):
        with at_place(f"conversation {number}"):
            yield list(_messages(_said(chat), name=_named(chat, "uuid")))


def _conversations(path: Path) -> Iterator[dict[str, Any]]:
    for text in _files(path):
        data = json.loads(text.decode("utf-8-sig"))
        if not isinstance(data, list) or not all(isinstance(chat, dict) for chat in data):
            raise Malformed("expected a list of conversations")
        yield from data


def _files(path: Path) -> Iterator[bytes]:
    if not zipfile.is_zipfile(path):
        yield path.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if FILE.fullmatch(name))
        if not names:
            raise Malformed("conversations.json is missing in the zip")
        for name in names:
            with archive.open(name) as file:
                text = file.read(LARGEST + 1)
            if len(text) > LARGEST:
                raise Malformed(f"{name} is over {LARGEST} bytes")
            yield text


def _named(chat: dict[str, Any], *names: str) -> str:
    found = next((chat[name] for name in names if isinstance(chat.get(name), str) and chat[name]), None)
    if found is None:
        raise Malformed("has no id")
    return str(found)


def _messages(turns: Iterator[dict[str, Any]], *, name: str) -> Iterator[Message]:
    for number, turn in enumerate(turns, start=1):
        with at_place(f"message {number}"):
            yield message_of(turn, number=number, name=name, conversation=name)


def _visible(chat: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Return the turns on the way from the beginning to where the chat stands; others were edited away."""
    nodes = chat.get("mapping")
    if not isinstance(nodes, dict):
        raise Malformed("has no mapping")
    way: list[dict[str, Any]] = []
    place, passed = chat.get("current_node"), set[str]()
    while isinstance(place, str) and place in nodes and place not in passed:
        passed.add(place)
        node = nodes[place] if isinstance(nodes[place], dict) else {}
        way.append(node.get("message") or {})
        place = node.get("parent")
    for message in reversed(way):
        author, content = message.get("author") or {}, message.get("content") or {}
        hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
        if author.get("role") in ("user", "assistant") and content.get("content_type") in SPOKEN and not hidden:
            texts = [part for part in content.get("parts") or [] if isinstance(part, str)]
            at = message.get("create_time")
            yield {"role": author["role"], "content": "\n".join(texts), "id": message.get("id"), "timestamp": at}


def _said(chat: dict[str, Any]) -> Iterator[dict[str, Any]]:
    messages = chat.get("chat_messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise Malformed("has no chat_messages")
    for message in messages:
        parts = [part for part in message.get("content") or [] if isinstance(part, dict) and part.get("type") == "text"]
        text = "\n".join(str(part.get("text") or "") for part in parts) or message.get("text") or ""
        role, at = SENDERS.get(message.get("sender", "")), message.get("created_at")
        yield {"role": role, "content": text, "id": message.get("uuid"), "created_at": at}


READERS = {"chatgpt": chatgpt, "claude": claude}
