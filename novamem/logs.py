"""Structured logs: one line an event, with the request id; JSON for machines or colours for people.

No line holds what memories say: of a request the route with the ids and the names of its parameters, of an error of the
database its first line (the others quote rows).
"""

import io
import logging
import re
import uuid
from functools import lru_cache
from typing import Any

import structlog
from django.conf import settings
from django.db import Error
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django_structlog.middlewares import RequestMiddleware
from structlog.typing import EventDict, ExcInfo

from memories import spans

MOST = 20  # parameters of a request that are named
REQUEST_ID = re.compile(r"[0-9a-fA-F-]{8,64}")
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


class WithoutTraceback(logging.Filter):
    """What Django refuses for its headers is no error of ours: one line tells of it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through."""
        if record.name.startswith("django.security"):
            record.exc_info = None
        return True


def logging_config(*, level: str, style: str) -> dict[str, Any]:
    """Return a `logging.config.dictConfig` dict. Also sets structlog up, since both must agree on the processors."""
    structlog.configure(
        processors=PROCESSORS, logger_factory=structlog.stdlib.LoggerFactory(), cache_logger_on_first_use=True
    )
    # A rich traceback would show local variables: keys, texts.
    console = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    renderer = structlog.processors.JSONRenderer() if style == "json" else console
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                "foreign_pre_chain": SHARED,
            }
        },
        "filters": {"refusals": {"()": WithoutTraceback}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["refusals"]}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Who asks is logged already, by us; django.request would tell the whole path.
            **{name: {"level": "WARNING"} for name in ("uvicorn.access", "sentence_transformers", "httpx2")},
            "django.request": {"level": "CRITICAL"},
        },
    }


def _name_span(_: Any, __: str, event: EventDict) -> EventDict:
    """Tell the trace, where there is one."""
    event.update(spans.ids())
    return event


def traceback_of(exc_info: ExcInfo) -> str:
    """Return a traceback without variables, and without what errors of the database quote."""
    out = io.StringIO()
    structlog.dev.plain_traceback(out, exc_info)
    text = out.getvalue()
    one: BaseException | None = exc_info[1]
    while one is not None:
        words = str(one)
        if _is_of_database(one) and "\n" in words:
            text = text.replace(words, words.partition("\n")[0])
        one = one.__cause__ or one.__context__
    return text


def _is_of_database(error: BaseException) -> bool:
    return isinstance(error, Error) or type(error).__module__.startswith("psycopg")


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    _name_span,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.ExceptionRenderer(traceback_of),
]
# One list for good: loggers that are in use hold on to it.
PROCESSORS = [
    structlog.stdlib.filter_by_level,
    *SHARED,
    structlog.processors.StackInfoRenderer(),
    structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
]


@lru_cache(maxsize=64)
def route_of(path: str) -> str:
    """Return the route of a path with the ids in it, and without words of a caller; an unknown path as it is."""
    try:
        match = resolve(path)
    except Resolver404:
        return path
    values = {name: str(value) for name, value in match.kwargs.items() if isinstance(value, uuid.UUID | int)}
    return "/" + PARAMETER.sub(lambda found: values.get(found[1], f"<{found[1]}>"), match.route)


class RequestLog(RequestMiddleware):  # type: ignore[misc]  # an untyped package's
    """Tells of requests what `route_of` tells, and the names of their parameters."""

    def prepare(self, request: HttpRequest) -> None:
        """Take the id that the proxy in front gave the request, if it looks like one: no words get into the log."""
        super().prepare(request)
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        if settings.BEHIND_TLS and REQUEST_ID.fullmatch(given):
            structlog.contextvars.bind_contextvars(request_id=given)

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        """`GET /beliefs/<subject>/<predicate>/?as_of`."""
        query = request.META.get("QUERY_STRING", "")
        names = "&".join(dict.fromkeys(part.partition("=")[0] for part in query.split("&")[:MOST])) if query else ""
        return f"{request.method} {route_of(request.path_info)}{f'?{names}' if names else ''}"
