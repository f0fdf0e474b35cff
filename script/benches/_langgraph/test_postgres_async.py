"""The tests that LangGraph has of its asynchronous store in Postgres."""

from contextlib import asynccontextmanager

import tests.test_async_store as theirs
from ours import Fresh, taken
from reasons import LEFT_OUT


@asynccontextmanager
async def _ours(*_, text_fields=None, **__):
    yield Fresh(index={"fields": text_fields})


theirs._create_vector_store = _ours
globals().update(taken(theirs, LEFT_OUT["langgraph-checkpoint-postgres", "test_async_store"]))
