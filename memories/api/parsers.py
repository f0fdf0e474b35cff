"""Reading JSON strictly: what Postgres or a later reader could not take is refused here, with its place."""

import json
import math
from typing import Any, NoReturn

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser

DEPTH = 32


class TooLarge(APIException):
    """The body is over the limit."""

    status_code = 413
    default_code = "too_large"
    default_detail = f"The body is over {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes."


class StrictJSONParser(BaseParser):
    """JSON without NaN, infinities, NUL, lone surrogates or bottomless nesting."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """The body as Python values. Raises TooLarge, ParseError, ValidationError."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge
        try:
            data = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_pairs)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error
        except ValueError as error:
            raise ParseError(f"This is not JSON: {error}") from error
        check_storable(data)
        return data


class UnlabelledJSONParser(BaseParser):
    """What curl sends without a Content-Type is JSON all the same; no form is ever read here."""

    # The parameter keeps the framework from reading it as a form where the body was read before.
    media_type = "application/x-www-form-urlencoded; q=1"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """As for JSON."""
        return StrictJSONParser().parse(stream)


def check_storable(data: Any) -> None:
    """Raises ValidationError or ParseError for JSON values that Postgres or a later reader could not take."""
    _check(data, place="", depth=0)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice in an object")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _check(value: Any, *, place: str, depth: int) -> None:
    if depth > DEPTH:
        raise ParseError(f"The JSON is nested deeper than {DEPTH} levels.")
    if isinstance(value, str):
        _check_text(value, place)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValidationError({place: ["This number is too large."]})
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key, place)
            _check(inner, place=f"{place}.{key}" if place else key, depth=depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _check(inner, place=f"{place}[{index}]", depth=depth + 1)


def _check_text(text: str, place: str) -> None:
    if "\x00" in text:
        raise ValidationError({place: ["NUL characters can't be stored."]})
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValidationError({place: ["A lone surrogate is not text."]})
