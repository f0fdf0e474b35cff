"""Mutations of a bundle's lines: each gives the bytes of a file that is damaged or hostile."""

import base64
import gzip
import hashlib
import json
import math
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from memories.backups.bundle import vectors
from memories.backups.bundle.manifest import Footer

Lines = list[bytes]
Mutation = Callable[[Lines, random.Random], bytes]
FIELDS: list[tuple[str, Any]] = [
    *(("importance", value) for value in (7, -1, "x", None, [], {}, 1e308)),
    *(("content", value) for value in ("", " x", "x" * 5000, None, 7, "\0", "\ud800")),
    *(("status", value) for value in ("holy", "", None)),
    *(("created_at", value) for value in ("1969-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00", "NaN", 0, "now")),
    *(("updated_at", value) for value in ("infinity", "9999-12-31T00:00:00+00:00", "10000-01-01T00:00:00+00:00")),
    *(("revision", value) for value in (0, -1, 2**40, 1.5, "one")),
    *(("authority", value) for value in (0, 7, 99, None)),
    *(("tags", value) for value in ("x", [1, [2]], ["x" * 200], {})),
    *(("id", value) for value in ("", "x", None, 7)),
    *(("superseded_by_id", value) for value in ("x", 7)),
    ("extra", None),
    ("surprise", 1),
]


def packed(lines: Lines, level: int = 1) -> bytes:
    """Return a file of these lines."""
    return gzip.compress(b"".join(line + b"\n" for line in lines), level, mtime=0)


def signed(lines: Lines) -> bytes:
    """Return a file of these lines, footer left out, with one that fits."""
    digest = hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()
    return packed([*lines, Footer.of(len(lines) - 1, digest).line()])


def flip_file(lines: Lines, rng: random.Random) -> bytes:
    data = bytearray(packed(lines))
    data[rng.randrange(10, len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def flip_text(lines: Lines, rng: random.Random) -> bytes:
    text = bytearray(b"".join(line + b"\n" for line in lines))
    text[rng.randrange(len(text))] ^= 1 << rng.randrange(8)
    return gzip.compress(bytes(text), 1, mtime=0)


def cut(lines: Lines, rng: random.Random) -> bytes:
    text = b"".join(line + b"\n" for line in lines)
    end = sum(len(line) + 1 for line in lines[: rng.randrange(1, len(lines))]) + rng.choice((-1, 0, 1))
    return gzip.compress(text[:end], 1, mtime=0)


def cut_file(lines: Lines, rng: random.Random) -> bytes:
    data = packed(lines)
    return data[: rng.randrange(len(data))]


def drop(lines: Lines, rng: random.Random) -> bytes:
    n = rng.randrange(1, len(lines) - 1)
    return packed(lines[:n] + lines[n + 1 :])


def double(lines: Lines, rng: random.Random) -> bytes:
    n = rng.randrange(1, len(lines) - 1)
    return signed([*lines[: n + 1], *lines[n:-1]])


def move(lines: Lines, rng: random.Random) -> bytes:
    one, other = sorted(rng.sample(range(1, len(lines) - 1), 2))
    changed = list(lines[:-1])
    changed[one], changed[other] = changed[other], changed[one]
    return signed(changed)


def splice(lines: Lines, rng: random.Random) -> bytes:
    data, n = packed(lines), rng.randrange(1, 200)
    place = rng.randrange(len(data))
    return data[:place] + rng.randbytes(n) + data[place:]


def hostile(lines: Lines, rng: random.Random) -> bytes:
    """Return a field that can't be, in a bundle that is rightly signed."""
    places = [n for n, line in enumerate(lines) if b'"kind": "fragment"' in line]
    n, (name, value) = rng.choice(places), rng.choice(FIELDS)
    record = json.loads(lines[n])
    record["row"][name] = value
    return signed([*lines[:n], json.dumps(record).encode(), *lines[n + 1 : -1]])


ANY: list[Any] = [
    *(None, True, 7, -1, 0, 1.5, 2**31, 2**40, 1e308, "", "x", " x", "x" * 5000, "\0", "\ud800"),
    *("NaN", "infinity", "-infinity", "1969-01-01T00:00:00+00:00", "2999-01-01T00:00:00+00:00"),
    *("20000-01-01T00:00:00+00:00", "0044-03-15T00:00:00+00:00 BC", "2026-02-30T00:00:00+00:00"),
    *(str(uuid.UUID(int=7)), "\\x", "\\x00", "restored", "active", "archived"),
    *([], [1], ["x"], ["x" * 300], [None], [[]], [{}], [{"text": 7}], {}, {"a": 1}, {"fragment": {}}, {"fragment": 7}),
]


def any_field(lines: Lines, rng: random.Random) -> bytes:
    """Any value in any place of any record, in a bundle that is rightly signed."""
    n = rng.randrange(1, len(lines) - 1)
    record = json.loads(lines[n])
    places: list[tuple[Any, Any]] = []

    def look(value: Any, depth: int) -> None:
        for key in value if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            if isinstance(value[key], dict | list) and depth < 4:
                look(value[key], depth + 1)

    look(record, 0)
    holder, key = rng.choice(places)
    holder[key] = rng.choice([value for value in ANY if value != holder[key] or type(value) is not type(holder[key])])
    return signed([*lines[:n], json.dumps(record).encode(), *lines[n + 1 : -1]])


def vector(lines: Lines, rng: random.Random) -> bytes:
    """Return a vector of another dimension, length or kind, in a bundle that is rightly signed."""
    n = rng.choice([n for n, line in enumerate(lines) if b'"vectors": [' in line and b'"kind": "fragment"' in line])
    record = json.loads(lines[n])
    numbers = vectors.unpacked(record["vectors"][0]["vector"]).copy()
    wrong = rng.choice([numbers[:-1], numbers[:0], numbers * 0, numbers])
    if len(wrong) == len(numbers):
        wrong[rng.randrange(len(wrong))] = rng.choice([math.nan, math.inf, 1e30, 7.0])
    record["vectors"][0]["vector"] = base64.b64encode(wrong.tobytes()).decode()
    return signed([*lines[:n], json.dumps(record).encode(), *lines[n + 1 : -1]])


def raw(lines: Lines, rng: random.Random) -> bytes:
    """Return a line that is no proper JSON, or too much of it."""
    n = rng.randrange(1, len(lines) - 1)
    start = lines[n][:-1]
    more = rng.choice(
        [b', "x": NaN}', b', "x": 1e999}', b', "x": ' + b"[" * 5000 + b"]" * 5000 + b"}", b"", b"\xff}", b"\0}"]
        + [b', "kind": "fragment"}', b', "x": ' + b"1" * 5000 + b"}", b', "x": [' + b"[]," * 400_000 + b"1]}"]
    )
    return signed([*lines[:n], start + more, *lines[n + 1 : -1]])


def head(lines: Lines, rng: random.Random) -> bytes:
    """Another manifest."""
    record = json.loads(lines[0])
    name = rng.choice(sorted(set(record) - {"exportedAtMs", "instance", "counts", "upto", "since", "base", "salt"}))
    # Of another type: a manifest that is rightly signed and could be one is no damage.
    record[name] = rng.choice([v for v in (None, 7, "x", [], {}) if type(v) is not type(record[name])])
    return signed([json.dumps(record).encode(), *lines[1:-1]])


def foot(lines: Lines, rng: random.Random) -> bytes:
    """Return a forged footer."""
    record = json.loads(lines[-1])
    name = rng.choice(["count", "sha256", "signature"])
    record[name] = rng.choice([0, -1, "", "00" * 64, "00" * 32, None, []])
    return packed([*lines[:-1], json.dumps(record).encode()])


def bomb(lines: Lines, rng: random.Random) -> bytes:
    return gzip.compress(lines[0] + b"\n" + b"\0" * rng.choice((30_000_000, 60_000_000)), 1, mtime=0)


def long_line(lines: Lines, rng: random.Random) -> bytes:
    noise = rng.randbytes(200_000).hex().encode()
    return gzip.compress(lines[0] + b"\n" + noise * 50, 1, mtime=0)


def wide(lines: Lines, rng: random.Random) -> bytes:
    """Four memories of 990,000 values each, with one character that makes their text four times as large."""
    many = b",".join(b'"%x": 0.%d' % (n, n % 10) for n in range(990_000))
    extra = '"extra": {"\U0001f600": 1, '.encode() + many + b"}"
    places = [n for n, line in enumerate(lines) if b'"extra": {}' in line][:4]
    return signed([line.replace(b'"extra": {}', extra) if n in places else line for n, line in enumerate(lines[:-1])])


def gigabyte(lines: Lines, file: Any) -> None:
    """A line of 1 GB that unpacks to no more of its file than texts do."""
    piece = random.Random(1).randbytes(8_000).hex().encode() + b"x" * 1_032_576
    with gzip.open(file, "wb", 1) as packing:
        packing.write(lines[0] + b"\n")
        for _ in range(1_024):
            packing.write(piece)


COMMON: list[Mutation] = [
    *(flip_file, flip_text, cut, cut_file, drop, double, move, splice, hostile, hostile, raw, head, foot, vector),
    *(any_field, any_field, any_field),
]
RARE = [bomb, long_line, wide]  # slow ones


def mutations(rng: random.Random, count: int) -> Iterator[Mutation]:
    """Return which ones are tried; a slow one now and then."""
    return (rng.choice(RARE) if number % 100 == 99 else rng.choice(COMMON) for number in range(count))
