"""What ChatGPT, Claude and Gemini export of somebody's chats, as messages: the zip as it comes, or its JSON."""

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memories.ingest.documents import from_html
from memories.ingest.files import Malformed, Message, at_place, message_of
from memories.strict_json import UNSTORABLE

FILE = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
# Takeout names folders and files in the account's language.
ACTIVITY = re.compile(r"(?:.*/)?[^/]*Gemini[^/]*/[^/]+\.json", re.IGNORECASE)
ASKED = "Prompted "
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


def gemini(path: Path) -> Iterator[list[Message]]:
    """Return each question with its answer, oldest first: Google Takeout's "My Activity" tells of no chats.

    Raise Malformed.
    """
    listed = list(_conversations(path, ACTIVITY))
    entries = [entry for entry in listed if _answer(entry) or _asked(entry).startswith(ASKED)]
    if listed and not entries:
        raise Malformed('holds no question: only what is answered, or begins with "Prompted", is known as one')
    for entry in sorted(entries, key=lambda entry: str(entry.get("time"))):
        at = entry.get("time")
        with at_place(f"what was asked on {at}"):
            turns = [("user", _asked(entry).removeprefix(ASKED)), ("assistant", from_html(_answer(entry)))]
            said = ({"role": role, "content": _text([text]), "timestamp": at} for role, text in turns if text.strip())
            asked = hashlib.sha256(_asked(entry).encode("utf-8", "replace")).hexdigest()[:8]
            yield list(_messages(said, name=f"gemini:{_named(entry, 'time')}:{asked}"))


def _asked(entry: dict[str, Any]) -> str:
    return str(entry.get("title") or "")


def _answer(entry: dict[str, Any]) -> str:
    parts = [part for part in entry.get("safeHtmlItem") or [] if isinstance(part, dict)]
    return "\n".join(str(part.get("html") or "") for part in parts)


def _conversations(path: Path, file: re.Pattern[str] = FILE) -> Iterator[dict[str, Any]]:
    for text in _files(path, file):
        data = json.loads(text.decode("utf-8-sig"))
        if not isinstance(data, list) or not all(isinstance(chat, dict) for chat in data):
            raise Malformed("expected a list of conversations")
        yield from data


def _files(path: Path, wanted: re.Pattern[str]) -> Iterator[bytes]:
    if not zipfile.is_zipfile(path):
        yield path.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if wanted.fullmatch(name))
        if not names:
            missing = (
                "conversations.json" if wanted is FILE else "JSON of Gemini's activity (Takeout asks: HTML or JSON)"
            )
            raise Malformed(f"{missing} is missing in the zip")
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
            texts = [_spoken(part) for part in content.get("parts") or []]
            at = message.get("create_time")
            yield {"role": author["role"], "content": _text(texts), "id": message.get("id"), "timestamp": at}


def _said(chat: dict[str, Any]) -> Iterator[dict[str, Any]]:
    messages = chat.get("chat_messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise Malformed("has no chat_messages")
    for message in messages:
        parts = [part for part in message.get("content") or [] if isinstance(part, dict) and part.get("type") == "text"]
        text = _text(part.get("text") for part in parts) or _text([message.get("text")])
        if role := SENDERS.get(str(message.get("sender"))):
            yield {"role": role, "content": text, "id": message.get("uuid"), "created_at": message.get("created_at")}


def _spoken(part: Any) -> Any:
    """Return the text of a part, also of one that was said aloud."""
    is_said = isinstance(part, dict) and part.get("content_type") == "audio_transcription"
    return part.get("text") if is_said else part


def _text(parts: Iterable[Any]) -> str:
    """Return what is text of them; one odd letter stops no import of years."""
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", "\n".join(part for part in parts if isinstance(part, str)))


READERS = {"chatgpt": chatgpt, "claude": claude, "gemini": gemini}
