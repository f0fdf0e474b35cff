"""Structures: what the tables, JSON and tags in a text say, as sentences: "staging server port: 4433"."""

import json
import re
from collections.abc import Iterator
from typing import Any

MOST, DEEPEST, TRIES = 200, 8, 20  # sentences of a text, levels of JSON, braces that begin none
RULE = re.compile(r"\|?[\s:|-]*-{2,}[\s:|-]*\|?")
LEAF = re.compile(r"<(?P<tag>[a-zA-Z][\w.-]{0,40})[^<>]{0,200}>(?P<text>[^<>]{1,200})</(?P=tag)>")
ATTRIBUTE = re.compile(r"""([a-zA-Z][\w-]{0,40})="([^"<>]{1,200})\"""")
TAG = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][\w.-]{0,40})[^<>]{0,200}>")
CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|[_.-]+")
# Keys that say nothing of what they hold.
BARE = frozenset({"value", "data", "result", "payload", "body", "content", "item", "items"})


def sentences(text: str) -> list[str]:
    """Return what each cell, value and element says, at most MOST; nothing of plain prose."""
    found: list[str] = []
    for each in (_tables, _tags, _json):
        for sentence in each(text):
            if len(found) == MOST:
                return found
            found.append(sentence)
    return found


def _said(path: list[str], value: str) -> str:
    names = [" ".join(CAMEL.sub(" ", name).split()) for name in path if name.lower() not in BARE]
    return f"{' '.join(names)}: {value.strip()}"


def _tables(text: str) -> Iterator[str]:
    """Return each cell of a table behind what its row and its column are called."""
    head: list[str] | None = None
    for line in text.splitlines():
        if "|" not in line:
            head = None
        elif head is None:
            head = _cells(line)
        elif not RULE.fullmatch(line.strip()):
            row = _cells(line)
            for name, cell in list(zip(head, row, strict=False))[1:]:
                if cell:
                    yield _said([row[0], name], cell)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _tags(text: str) -> Iterator[str]:
    """Return each element that holds text, and each attribute, behind its name and that of what holds it."""
    for tag in TAG.finditer(text):
        attributes = dict(ATTRIBUTE.findall(tag.group()))
        called = attributes.pop("name", "") or attributes.pop("id", "")
        for name, value in attributes.items():
            if called:
                yield _said([called] if name in BARE else [called, name], value)
    for leaf in LEAF.finditer(text):
        above: list[str] = []
        for tag in TAG.finditer(text, max(0, leaf.start() - 2_000), leaf.start()):
            if not tag["end"]:
                attributes = dict(ATTRIBUTE.findall(tag.group()))
                above.append(attributes.get("name") or attributes.get("id") or tag["tag"])
            elif tag["tag"] in above:
                del above[len(above) - 1 - above[::-1].index(tag["tag"]) :]
        its = [word for pair in ATTRIBUTE.findall(leaf.group()) for word in pair]
        yield _said([*above[-1:], leaf["tag"], *its], leaf["text"])


def _json(text: str) -> Iterator[str]:
    """Return each value of the JSON in a text behind its keys."""
    decoder, at, failed = json.JSONDecoder(), 0, 0
    while failed < TRIES and (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at, failed = at + 1, failed + 1
            continue
        yield from _values(value, [])


def _values(value: Any, path: list[str]) -> Iterator[str]:
    if len(path) > DEEPEST:
        return
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _values(one, [*path, name])
    elif isinstance(value, list):
        for one in value:
            yield from _values(one, path)
    elif value is not None and path:
        yield _said(path[-2:], str(value))
