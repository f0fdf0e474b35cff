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


def flip_envelope(told: dict[str, Any], dice: random.Random) -> bytes:
    """A bit of the text."""
    text = bytearray(json.dumps(told).encode())
    text[dice.randrange(len(text))] ^= 1 << dice.randrange(8)
    return bytes(text)


def cut_envelope(told: dict[str, Any], dice: random.Random) -> bytes:
    """Only its beginning."""
    text = json.dumps(told).encode()
    return text[: dice.randrange(len(text))]


def deep_envelope(told: dict[str, Any], dice: random.Random) -> bytes:
    """Nested too deeply."""
    return json.dumps(told).replace('"chunks"', '"x": ' + "[" * 5000 + "]" * 5000 + ', "chunks"').encode()


def hostile_head(told: dict[str, Any], dice: random.Random) -> bytes:
    """Something beside the chunks that can't be."""
    name = dice.choice(["schemaVersion", "exportedAtMs", "chunks"])
    return json.dumps({**told, name: dice.choice(["x", -1, None, {}, [7]])}).encode()


def hostile_chunk(told: dict[str, Any], dice: random.Random) -> bytes:
    """A field that can't be."""
    chunks, (name, value) = list(told["chunks"]), dice.choice(CHUNKS)
    place = dice.randrange(len(chunks))
    chunks[place] = {**chunks[place], name: value}
    return json.dumps({**told, "chunks": chunks}).encode()


CAN_BE = {flip_envelope}  # what may still be an envelope
ENVELOPES = [flip_envelope, cut_envelope, hostile_chunk, hostile_chunk, hostile_chunk, hostile_head, deep_envelope]
