"""What a room may answer to a person's wish, in words; and who is told of it how."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from memories.errors import NovaError

T = TypeVar("T")


def request_id() -> str:
    """Return under which the log has what is done now."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why nothing was done; the request by which the log has it."""

    title: str
    detail: str
    request_id: str = field(default_factory=request_id)


def run_action(act: Callable[[], T]) -> tuple[T | None, Refusal | None]:
    """Return what the act answered, or why the room refused it. NotFound and NotPermitted pass: they are pages."""
    try:
        return act(), None
    except NovaError as error:
        if not error.title:
            raise
        return None, Refusal(error.title, error_sentence(str(error)))


def error_sentence(text: str) -> str:
    """Return what a room says, as a sentence in the words of the console; some rooms say whole ones."""
    text = re.sub(r"\bfragment(s?)\b", lambda found: "memories" if found[1] else "memory", text)
    return text if not text or text.endswith(".") else f"{text[:1].upper()}{text[1:]}."
