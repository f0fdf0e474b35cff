"""Each statement names the request that it is for, and no name of a request becomes a statement."""

import pytest
import structlog
from django.db import connection

from memories.models.sql import execute, fetch

RUNNING = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() AND %s = 1"


@pytest.fixture
def sent():
    """The statements as they go out, of what is done inside."""
    statements = []

    def note(run, statement, *given):
        statements.append(statement)
        return run(statement, *given)

    with connection.execute_wrapper(note):
        yield statements


@pytest.mark.usefixtures("project")
def test_postgres_shows_it():
    with structlog.contextvars.bound_contextvars(request_id="0f0f-1"):
        ((query,),) = fetch(RUNNING, [1])
    assert query.endswith("= 1 /*request_id='0f0f-1'*/")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("which", ["", "*/ SELECT 1 --", "a'b", "%s", "%(x)s", "a\nb", "é", "x" * 65])
def test_what_could_end_the_comment_is_left_out(sent, which):
    with structlog.contextvars.bound_contextvars(request_id=which):
        fetch(RUNNING, [1])
    assert sent == [RUNNING]


@pytest.mark.usefixtures("project")
def test_without_a_request_nothing_is_added(sent):
    execute("SELECT 1", [])
    assert sent == ["SELECT 1"]


def test_all_statements_of_a_request_name_it(alice, sent):
    answer = alice.client.get("/api/v1/fragments", {"namespace": "acme:main"})
    # Beside what places a transaction in its project, which is composed of parts.
    ours = [text for text in sent if isinstance(text, str) and not text.startswith(("SAVEPOINT", "RELEASE"))]
    assert len(ours) > 2
    assert {statement.rpartition(" ")[2] for statement in ours} == {f"/*request_id='{answer['X-Request-Id']}'*/"}
