"""Each statement names the request that it is for, or its session does; no name of a request becomes a statement."""

import threading

import pytest
import structlog
from django.db import connection

from memories.access import enter
from memories.models.sql import execute, fetch, fetch_prepared
from memories.statement_comments import commented

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
    # Beside those that are prepared, and what places a transaction in its project, which is composed of parts.
    ours = [text for text in sent if isinstance(text, str) and not text.startswith(("SAVEPOINT", "RELEASE"))]
    ours = [text for text in ours if "nova_find_key" not in text and "nova_answer_rows" not in text]
    assert len(ours) > 1
    assert {statement.rpartition(" ")[2] for statement in ours} == {f"/*request_id='{answer['X-Request-Id']}'*/"}


def test_the_session_names_the_request_of_what_is_prepared(principal):
    shown = "SELECT query, application_name FROM pg_stat_activity WHERE pid = pg_backend_pid() AND %s = 1"
    with structlog.contextvars.bound_contextvars(request_id="0f0f-1"), enter(principal, why="test"):
        ((query, name),) = fetch_prepared(shown, [1])
    assert (query, name) == (shown.replace("%s", "$1"), "novamem 0f0f-1")


def test_a_connection_that_is_made_inside_a_wrapper_leaves_none_behind(django_db_setup, django_db_blocker):
    """Each request wraps its statements before there is a connection: what stayed would add up, request by request."""
    left, queries = [], []

    def work():
        for _ in range(3):
            with structlog.contextvars.bound_contextvars(request_id="0f0f-1"), connection.execute_wrapper(noted):
                queries.extend(fetch(RUNNING, [1]))
            connection.close()
        left.extend(connection.execute_wrappers)

    def noted(execute, *given):
        return execute(*given)

    with django_db_blocker.unblock():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert left == [commented]
    assert [query.rpartition(" ")[2] for (query,) in queries] == ["/*request_id='0f0f-1'*/"] * 3
