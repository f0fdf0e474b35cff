"""What the fake upstream says: chat completions whole and as events, in orderly and in odd pieces. Deterministic."""

import json
import random
from typing import Any

REPLY = "The otter sleeps under the new bridge: naïve café, 漢字, 🦦👩‍👩‍👧."
HEAD = {"id": "chatcmpl-fake", "created": 0, "model": "fake"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
DONE = b"data: [DONE]\n\n"
WORDS = [
    "heron",
    "otter",
    "mill",
    "naïve",
    "café",
    "漢字",
    "🦦",
    "👩‍👩‍👧",
    "e\u0301",
    "\u202e",
    "\\n",
    '"',
    "\n",
    "[DONE]",
    "data:",
]
COMMENTS = [": keep-alive", ":", "event: message", "id: 7", "retry: 10", "unknown: field", "data"]


def completion(text: str, *, calls: bool) -> dict[str, Any]:
    """Return a whole chat completion that says the text, or calls a tool."""
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else text}
    message |= {"tool_calls": [CALL]} if calls else {}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}


def event(delta: dict[str, Any], *, finish: str | None = None) -> bytes:
    """Return one event of a stream, as OpenAI writes it; UTF-8 is not escaped."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def events(text: str) -> list[bytes]:
    """Return the text word by word, with [DONE] at the end."""
    words = text.split(" ")
    pieces = [word + (" " if number < len(words) else "") for number, word in enumerate(words, start=1)]
    opening = event({"role": "assistant", "content": ""})
    return [opening, *(event({"content": word}) for word in pieces), event({}, finish="stop"), DONE]


def tool_events() -> list[bytes]:
    """Return a tool call whose arguments come in two halves."""
    first = {"index": 0, **CALL, "function": {"name": "weather", "arguments": '{"city": '}}
    second = {"index": 0, "function": {"arguments": '"Lisbon"}'}}
    opening = event({"role": "assistant", "content": None, "tool_calls": [first]})
    return [opening, event({"tool_calls": [second]}), event({}, finish="tool_calls"), DONE]


def odd(data: bytes, *, seed: int) -> list[bytes]:
    """Return the data in pieces of 1 to 37 bytes: cut inside letters, lines and events."""
    chance, pieces, at = random.Random(seed), [], 0
    while at < len(data):
        size = chance.randint(1, 37)
        pieces.append(data[at : at + size])
        at += size
    return pieces


def varied(seed: int) -> list[bytes]:
    """A stream like no other: length, line ends, comments, fields that nobody knows, pieces, with [DONE] or without."""
    chance = random.Random(seed)
    end = chance.choice(["\n", "\r\n", "\r"])
    lines: list[str] = []
    for _ in range(chance.randint(0, 40)):
        text = " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))
        escaped = chance.random() < 0.5
        data = json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}, ensure_ascii=escaped)
        lines += [chance.choice(COMMENTS)] if chance.random() < 0.2 else []
        lines += [f"data:{' ' * chance.randint(0, 1)}{data}", ""]
    lines += ["data: [DONE]", ""] if chance.random() < 0.8 else []
    whole = "".join(line + end for line in lines).encode()
    return odd(whole, seed=seed) if chance.random() < 0.7 else [whole] if whole else []
