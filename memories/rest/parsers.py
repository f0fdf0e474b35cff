"""Bodies of requests: strict JSON, whatever the client calls it."""

from typing import Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError, ValidationError
from rest_framework.parsers import BaseParser

from memories import strict_json


class TooLarge(APIException):
    """The body is over the limit."""

    status_code = 413
    default_code = "too_large"
    default_detail = f"The body is over {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes."


class StrictJSONParser(BaseParser):
    """JSON without NaN, infinities, NUL, lone surrogates or bottomless nesting."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        """Return the body as Python values. Raise TooLarge, ParseError, ValidationError."""
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise TooLarge
        try:
            data = strict_json.loads(body.decode("utf-8"))
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
    """Raise ValidationError or ParseError for JSON values that Postgres or a later reader could not take."""
    try:
        strict_json.check(data)
    except strict_json.NotStorable as error:
        raise ValidationError({error.place: [str(error)]}) from error
    except RecursionError as error:
        raise ParseError(f"The JSON is nested deeper than {strict_json.DEPTH} levels.") from error
