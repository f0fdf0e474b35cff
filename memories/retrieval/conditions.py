"""What a question asks of rows, as SQL over their tables."""

import datetime
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import Model, Q

from memories.models import Namespace
from memories.retrieval.questions import Reach


def literals(namespaces: Sequence[Namespace]) -> str:
    """The planner has to see which partitions and which partial index it may use."""
    return ", ".join(f"'{namespace.id}'" for namespace in namespaces)


def where(model: type[Model], conditions: Q) -> tuple[str, Sequence[Any]]:
    """Conditions on a model's row as SQL over its table's name, and their parameters; nothing for none."""
    if not conditions:
        return "", []
    query = model._default_manager.filter(conditions).query
    return query.where.as_sql(query.get_compiler(connection=connection), connection)


def reached(model: type[Model], reach: Reach) -> tuple[str, list[Any]]:
    """The reach as SQL over the model's table, and its parameters."""
    times = [reach.at, reach.at] if reach.at else []
    return _reaching(model, timeless=reach.at is None), ["", reach.session_id, *times]


@cache
def _reaching(model: type[Model], *, timeless: bool) -> str:
    """Worded once: the ORM takes longer for it than Postgres for the search."""
    return where(
        model, Reach("any", None if timeless else datetime.datetime.max.replace(tzinfo=datetime.UTC)).conditions()
    )[0]
