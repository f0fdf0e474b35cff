"""JSON, read strictly: what Postgres or a later reader could not take is refused, with its place. No rows."""

import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

DEPTH = 32  # levels of nesting
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class NotStorable(ValueError):
    """A value that can't be stored; `place` names it, such as `extra.steps[2]`."""

    def __init__(self, why: str, *, place: str) -> None:
        super().__init__(why)
        self.place = place


@cache  # making one takes as long as reading a short text
def _decoder(parse_float: Callable[[str], Any] | None) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=refuse_constant, parse_float=parse_float, object_pairs_hook=_without_twins)


def loads(text: str, *, parse_float: Callable[[str], Any] | None = None) -> Any:
    """Return the value. Raise ValueError for what is no JSON, NaN, infinities or a name twice; RecursionError."""
    return _decoder(parse_float).decode(text)


def check(value: Any, *, place: str = "", left: int = DEPTH) -> None:
    """Raise NotStorable for NUL, lone surrogates or a number too large, RecursionError below so many levels."""
    if left < 0:
        raise RecursionError
    if isinstance(value, str):
        check_text(value, place=place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise NotStorable("This number is too large.", place=place)
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_text(key, place=place)
            check(inner, place=f"{place}.{key}" if place else key, left=left - 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            check(inner, place=f"{place}[{index}]", left=left - 1)


def check_text(text: str, *, place: str = "") -> None:
    """Raise NotStorable for NUL and lone surrogates."""
    if found := UNSTORABLE.search(text):
        why = "NUL characters can't be stored." if found.group() == "\0" else "A lone surrogate is not text."
        raise NotStorable(why, place=place)


def finite(text: str) -> float:
    """Return the number. Raise ValueError for one too large."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError: JSON knows no NaN and no infinities."""
    raise ValueError(f"{name} is not a JSON number")


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in an object")
    return found
