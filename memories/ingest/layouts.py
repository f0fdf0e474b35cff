"""From JSON data to messages: chats as APIs exchange them, and LoCoMo's conversations in sessions."""

import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from memories.strict_json import UNSTORABLE

Kind = Literal["message", "text"]

ROLES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "system",
    "developer": "system",
}
TIME_NAMES = ("at", "timestamp", "created_at")
# Seconds reach this in the year 5138, milliseconds had passed it in 1973.
MILLISECONDS_ABOVE = 1e11
ID_LIMIT = 255
SESSION = re.compile(r"session_(\d{1,9})")
LOCOMO_TIME = "%I:%M %p on %d %B, %Y"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation (`message`) or one piece of a document (`text`).

    `role` is user, assistant, tool, system or, for a text, document. `at` is aware. `sequence` is the place in the
    conversation, from 1; None: behind what that holds already. `attested`: the user said it before our eyes.
    `partial`: its end is missing.
    """

    role: str
    content: str
    at: datetime.datetime | None
    source_id: str | None
    conversation_id: str | None
    sequence: int | None
    kind: Kind
    speaker: str | None
    attested: bool = False
    partial: bool = False


class Malformed(Exception):
    """Something in the data is not as it must be; says where and what."""


@contextmanager
def at_place(place: str) -> Iterator[None]:
    """Names the place that is being read in front of what is wrong there."""
    try:
        yield
    except Malformed as error:
        raise Malformed(f"{place}: {error}") from error


def chat(data: Any, *, name: str, conversation: str) -> Iterator[Message]:
    """Return the messages of a list or of {"messages": […]}; `name` and a number make the id of one that has none."""
    if isinstance(data, dict):
        conversation = _id(data, "conversation_id") or conversation
        data = data.get("messages", [data] if "role" in data else None)
    if not isinstance(data, list) or not data:
        raise Malformed('holds no messages: expected [{role, content}, …], {"messages": […]} or LoCoMo sessions')
    for number, turn in enumerate(data, start=1):
        with at_place(f"message {number}"):
            yield message_of(turn, number=number, name=name, conversation=conversation)


def message_of(turn: Any, *, number: int, name: str, conversation: str) -> Message:
    """One message of a chat: {role, content, id?, at | timestamp | created_at?, conversation_id?, speaker | name?}."""
    if not isinstance(turn, dict):
        raise Malformed(f"expected an object with role and content, not {_kind(turn)}")
    return Message(
        role=_role(turn.get("role")),
        content=_storable("content", _content(turn)),
        at=_time(turn),
        source_id=_id(turn, "id") or f"{name}#{number}",
        conversation_id=_id(turn, "conversation_id") or conversation,
        sequence=number,
        kind="message",
        speaker=_id(turn, "speaker") or _id(turn, "name"),
    )


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a string", type(None): "null"}.get(type(value), "a plain value")


def _role(role: Any) -> str:
    if isinstance(role, str) and role.lower() in ROLES:
        return ROLES[role.lower()]
    raise Malformed("has no role" if role is None else f"unknown role {role!r:.40}; use one of: {', '.join(ROLES)}")


def _content(turn: dict[str, Any]) -> str:
    """Return the text of a message; of OpenAI's content parts, those that are text."""
    content = turn.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "\n".join(text for text in texts if isinstance(text, str))
    # A message that only calls a tool has none.
    if content is None and ("content" in turn or "tool_calls" in turn):
        return ""
    raise Malformed("has no content" if content is None else f"content is {_kind(content)}, not text")


def _storable(field: str, text: str) -> str:
    if found := UNSTORABLE.search(text):
        raise Malformed(f"{field} holds the character U+{ord(found.group()):04X}, which can't be stored")
    return text


def _id(turn: dict[str, Any], field: str) -> str | None:
    value = turn.get(field)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Malformed(f"{field} is {_kind(value)}, not a string or whole number")
    if len(str(value)) > ID_LIMIT:
        raise Malformed(f"{field} is longer than {ID_LIMIT} characters")
    return _storable(field, str(value))


def _time(turn: dict[str, Any]) -> datetime.datetime | None:
    """Return the message's time: ISO 8601 with a zone, or seconds or milliseconds since 1970."""
    field = next((name for name in TIME_NAMES if turn.get(name) is not None), None)
    if field is None:
        return None
    value = turn[field]
    try:
        time = _moment(value)
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise Malformed(f"{field} {value!r:.60} is not a time: use ISO 8601 with a zone") from error
    if time.tzinfo is None:
        raise Malformed(f"{field} {value!r} has no time zone: add Z or an offset such as +02:00")
    return time


def _moment(value: Any) -> datetime.datetime:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.datetime.fromtimestamp(value / 1000 if abs(value) > MILLISECONDS_ABOVE else value, datetime.UTC)
    time = datetime.datetime.fromisoformat(value)
    # Times at the ends of the calendar exist in their zone only.
    return time.astimezone(datetime.UTC) if time.tzinfo else time


def locomo_samples(data: Any) -> list[tuple[str, dict[str, Any]]]:
    """The conversations in LoCoMo's layout, each with what tells it from the others in the file; [] for other data."""
    samples = data if isinstance(data, list) else [data]
    found = []
    for number, sample in enumerate(samples, start=1):
        sessions = sample.get("conversation", sample) if isinstance(sample, dict) else None
        if not isinstance(sessions, dict) or not _sessions(sessions):
            return []
        name = _id(sample, "sample_id") or str(number)
        found.append((f":{name[:30]}" if isinstance(data, list) else "", sessions))
    return found


def _sessions(conversation: dict[str, Any]) -> list[str]:
    """Return the names of the sessions, in the order of their numbers."""
    names = [name for name, turns in conversation.items() if SESSION.fullmatch(name) and isinstance(turns, list)]
    return sorted(names, key=lambda name: int(name.removeprefix("session_")))


def locomo(stem: str, conversation: dict[str, Any]) -> Iterator[Message]:
    """Return a message per turn; each session is a conversation, named after the file and the session."""
    for session in _sessions(conversation):
        with at_place(session):
            at = _locomo_time(conversation.get(f"{session}_date_time"))
        for number, turn in enumerate(conversation[session], start=1):
            with at_place(f"{session}, turn {number}"):
                yield _locomo_turn(turn, at=at, conversation=f"{stem}:{session}", number=number)


def _locomo_turn(turn: Any, *, at: datetime.datetime | None, conversation: str, number: int) -> Message:
    if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
        raise Malformed("expected an object with speaker and text")
    speaker = _id(turn, "speaker")
    if speaker is None:
        raise Malformed("has no speaker")
    caption = turn.get("blip_caption")
    words = [f"{speaker}:", turn["text"].strip(), f"[shares a photo: {caption}]" if caption else ""]
    return Message(
        role="user",
        content=_storable("text", " ".join(word for word in words if word)),
        at=at,
        source_id=_id(turn, "dia_id") or f"{conversation}#{number}",
        conversation_id=conversation,
        sequence=number,
        kind="message",
        speaker=speaker,
    )


def _locomo_time(text: Any) -> datetime.datetime | None:
    """Return a session's time, such as "1:56 pm on 8 May, 2023". LoCoMo names no zone: UTC is as good as any."""
    if text is None:
        return None
    try:
        return datetime.datetime.strptime(text, LOCOMO_TIME).replace(tzinfo=datetime.UTC)
    except (ValueError, TypeError) as error:
        raise Malformed(f'date_time {text!r:.60} is not like "1:56 pm on 8 May, 2023"') from error
