"""Structured logs: one line an event, with the request id; JSON for machines or colours for people."""

from typing import Any

import structlog


def logging_config(*, level: str, style: str) -> dict[str, Any]:
    """A `logging.config.dictConfig` dict. Also sets structlog up, since both must agree on the processors."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    # A rich traceback would show local variables: keys, texts.
    told = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    renderer = structlog.processors.JSONRenderer() if style == "json" else told
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
                "foreign_pre_chain": shared,
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        # Who asks is logged already, by us.
        "loggers": {name: {"level": "WARNING"} for name in ("uvicorn.access", "sentence_transformers", "httpx2")},
    }
