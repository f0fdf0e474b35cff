"""Messages and texts from files: chat JSON, JSON Lines, LoCoMo conversations, Markdown, plain text, documents."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memories.ingest import documents
from memories.ingest.chunking import split
from memories.ingest.layouts import Malformed, Message, at_place, chat, locomo, locomo_samples, message_of

__all__ = ["Malformed", "Message", "UnreadableFile", "at_place", "message_of", "read"]

Reader = Callable[[Path, str], Iterator[Message]]

JSON_SUFFIXES = {".json"}
JSON_LINES_SUFFIXES = {".jsonl", ".ndjson"}
TEXT_SUFFIXES = {".md", ".markdown", ".txt", ".text", ".rst", ".log"}


class UnreadableFile(Exception):
    """A file that can't be read as messages: `path`, and `why` with the line or message it fails at."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


def read(path: Path) -> Iterator[Message]:
    """Return the messages of a file, in order, in the format that its suffix or, failing that, its content shows.

    Raise UnreadableFile, at the latest when the iteration reaches the place.
    """
    try:
        if documents.is_document(path):
            yield from _pieces(path, documents.markdown(path))
            return
        text = _text(path)
        yield from _format(path, text)(path, text)
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error
    except OSError as error:
        raise UnreadableFile(path, error.strerror or str(error)) from error


def _text(path: Path) -> str:
    if not path.exists():
        raise Malformed("there is no such file")
    if not path.is_file():
        raise Malformed("is not a file" + (", but a directory" if path.is_dir() else ""))
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _line(data, error.start)
        raise Malformed(f"{place}: is not UTF-8 text (byte 0x{data[error.start]:02x})") from error
    if "\0" in text:
        raise Malformed(f"{_line(data, data.index(0))}: holds a NUL character")
    if not text.strip():
        raise Malformed("is empty")
    return text


def _line(data: bytes, position: int) -> str:
    lines_before = data.count(b"\n", 0, position)
    return f"line {lines_before + 1}"


def _format(path: Path, text: str) -> Reader:
    suffix = path.suffix.lower()
    if suffix in TEXT_SUFFIXES:
        return _pieces
    if suffix in JSON_LINES_SUFFIXES:
        return _json_lines
    if suffix in JSON_SUFFIXES:
        return _json_lines if _is_json_lines(text) else _json
    return _sniffed(text)


def _sniffed(text: str) -> Reader:
    if _is_json_lines(text):
        return _json_lines
    return _json if isinstance(_parsed_or_none(text), list | dict) else _pieces


def _is_json_lines(text: str) -> bool:
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and isinstance(_parsed_or_none(first), dict)


def _parsed_or_none(text: str) -> Any:
    try:
        return _parsed(text)
    except Malformed:
        return None


def _parsed(text: str, *, line: int = 1) -> Any:
    """Return the JSON value; `line` is where the text begins in its file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"line {error.lineno + line - 1}: broken JSON: {error.msg} (column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise Malformed(f"line {line}: JSON that can't be read: {type(error).__name__}") from error


def _pieces(path: Path, text: str) -> Iterator[Message]:
    """Return a document; its pieces are one conversation, so that they stay together and in order."""
    name = _name(path.name)
    for number, piece in enumerate(split(text), start=1):
        yield Message("document", piece, None, f"{name}#{number}", name, number, "text", None)


def _name(name: str) -> str:
    """Return a file's name as part of an id: storable, and with room for a number behind it."""
    return name.encode("utf-8", "replace").decode()[:200]


def _json(path: Path, text: str) -> Iterator[Message]:
    data = _parsed(text)
    samples = locomo_samples(data)
    for sample, sessions in samples:
        yield from locomo(_name(path.stem) + sample, sessions)
    if not samples:
        yield from chat(data, name=_name(path.name), conversation=_name(path.stem))


def _json_lines(path: Path, text: str) -> Iterator[Message]:
    """Return a message per line, or a whole conversation per line."""
    name, conversation = _name(path.name), _name(path.stem)
    turns = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        data = _parsed(line, line=number)
        with at_place(f"line {number}"):
            if isinstance(data, dict) and "messages" in data:
                yield from chat(data, name=f"{name}:{number}", conversation=f"{conversation}:{number}")
            else:
                turns += 1
                yield message_of(data, number=turns, name=name, conversation=conversation)
