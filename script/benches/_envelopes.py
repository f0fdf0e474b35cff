"""Damaged and hostile V1 envelopes, for `script/bench bundles`. Nobody signs one: what is still one may be applied."""

import json
import random
from typing import Any

NAMES = ("importance", "revision", "status", "tags", "type", "source")
CHUNKS: list[tuple[str, Any]] = [
    *(("id", value) for value in ("", "x", None, 7, [], {})),
    *(("content", value) for value in ("", None, 7, "x" * 5000, "\0", "\ud800", [])),
    *((name, value) for name in ("createdAt", "updatedAt") for value in ("", "now", None, -1, 1e300, "2999-01-01", [])),
    *(("embedding", value) for value in ([], "x", [0.0] * 3, [None], [[1]], [1e308] * 3, {"a": 1})),
    *(("metadata", value) for value in ("x", [1], 7, {"namespace": "elsewhere:main"}, {"namespace": 7})),
    *(("metadata", {name: value}) for name in NAMES for value in ({}, -1, "holy", 1e308)),
    *(("metadata", {"extra": value}) for value in ("x", [1], 7)),
    ("surprise", 1),
]


def flip_envelope(record: dict[str, Any], rng: random.Random) -> bytes:
    """Return a bit of the text."""
    text = bytearray(json.dumps(record).encode())
    text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    return bytes(text)


def cut_envelope(record: dict[str, Any], rng: random.Random) -> bytes:
    """Only its beginning."""
    text = json.dumps(record).encode()
    return text[: rng.randrange(len(text))]


def deep_envelope(text: dict[str, Any], rng: random.Random) -> bytes:
    """Nested too deeply."""
    return json.dumps(text).replace('"chunks"', '"x": ' + "[" * 5000 + "]" * 5000 + ', "chunks"').encode()


def hostile_head(text: dict[str, Any], rng: random.Random) -> bytes:
    """Something beside the chunks that can't be."""
    name = rng.choice(["schemaVersion", "exportedAtMs", "chunks"])
    return json.dumps({**text, name: rng.choice(["x", -1, None, {}, [7]])}).encode()


def hostile_chunk(text: dict[str, Any], rng: random.Random) -> bytes:
    """Return a field that can't be."""
    chunks, (name, value) = list(text["chunks"]), rng.choice(CHUNKS)
    place = rng.randrange(len(chunks))
    chunks[place] = {**chunks[place], name: value}
    return json.dumps({**text, "chunks": chunks}).encode()


CAN_BE = {flip_envelope}  # what may still be an envelope
ENVELOPES = [flip_envelope, cut_envelope, hostile_chunk, hostile_chunk, hostile_chunk, hostile_head, deep_envelope]
