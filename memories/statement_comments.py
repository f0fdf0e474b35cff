"""Statement comments: each statement names the request that it is for, so that Postgres' own views lead to our log."""

import re
from typing import Any

import structlog
from django.db.backends.postgresql.base import ServerBindingCursor

# What a caller, or a proxy in front, may call a request; anything else could end the comment.
PLAIN = re.compile(r"[0-9A-Za-z_-]{1,64}")


def comment_statements(connection: Any, **_: Any) -> None:
    """Let a new connection name the request in its statements, where there is one: hears `connection_created`."""
    if commented not in connection.execute_wrappers:
        # In front: who wraps what is done meanwhile takes the last one away again, and has to find it his own.
        connection.execute_wrappers.insert(0, commented)


def commented(execute: Any, statement: str, params: Any, many: bool, context: Any) -> Any:
    """Run a statement, with the request's id behind it; but one that is prepared for many requests."""
    if isinstance(context["cursor"].cursor, ServerBindingCursor):
        return execute(statement, params, many, context)
    which = str(structlog.contextvars.get_contextvars().get("request_id", ""))
    if isinstance(statement, str) and PLAIN.fullmatch(which):
        statement = f"{statement} /*request_id='{which}'*/"
    return execute(statement, params, many, context)
