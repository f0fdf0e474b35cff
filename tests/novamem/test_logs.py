"""What logs may not hold."""

import logging
import sys

import httpx2
import pytest
import structlog
from django.contrib.auth import get_user_model
from django.db import IntegrityError
from structlog.testing import capture_logs

from memories.access import keys
from novamem.celery import narrow_context
from novamem.logs import logging_config, traceback_of
from tests.conftest import web_server


@pytest.mark.parametrize("style", ["console", "json"])
def test_a_traceback_shows_no_variables(style):
    line = logging_config(level="INFO", style=style)["formatters"]["line"]
    formatter = line.pop("()")(**line)

    def fail():
        key = "nova_" + "secret"
        raise ValueError(len(key))

    try:
        fail()
    except ValueError:
        record = logging.LogRecord("novamem", logging.ERROR, __file__, 1, "It failed", None, sys.exc_info())
    told = formatter.format(record)
    assert "It failed" in told
    assert "nova_secret" not in told


def test_a_logger_in_use_follows_a_new_configuration():
    log = structlog.get_logger("novamem.test")
    log.info("before")
    logging_config(level="INFO", style="json")
    with capture_logs() as found:
        log.info("after")
    assert [line["event"] for line in found] == ["after"]


def test_an_error_of_the_database_is_told_without_the_row(committed):
    """Postgres quotes it in the second line."""
    name = "".join(("peni", "cillin"))
    with pytest.raises(IntegrityError) as raised:
        get_user_model()._default_manager.create(username=name, first_name=None)
    assert "penicillin" in str(raised.value)
    told = traceback_of((type(raised.value), raised.value, raised.value.__traceback__))
    assert "IntegrityError" in told
    assert "penicillin" not in told


@pytest.mark.long
def test_no_word_of_a_request_is_logged(committed, web_environment, tmp_path):
    wish = keys.KeyRequest([f"{committed.name}:*"], ["read", "write"], "tool_output")
    key = keys.issue(committed, wish, owner="alice").text
    paths = (
        "/api/v1/claims?subject=penicillin&predicate=penicillin",
        "/memories/?q=penicillin",
        "/beliefs/penicillin/penicillin/",
        f"/api/v1/fragments?{'&'.join(f'tag{n}=penicillin' for n in range(1500))}",
        "/api/v1/claims?as_of=penicillin",
    )
    path = tmp_path / "web.log"
    headers = {"Authorization": f"Bearer {key}"}
    with (
        path.open("w") as log,
        web_server({**web_environment, "LOG_LEVEL": "INFO"}, log=log) as url,
        httpx2.Client(base_url=url, headers=headers, trust_env=False) as client,
    ):
        for place in paths:
            client.get(place)
        body = {"namespace": f"{committed.name}:main", "content": "Allergic to penicillin.", "query": "penicillin"}
        client.post("/api/v1/search", json=body)
        stored = client.post("/api/v1/fragments", json=dict(list(body.items())[:2])).json()
        assert client.delete(f"/api/v1/fragments/{stored['id']}").status_code == 204
    told = path.read_text()
    assert "GET /beliefs/<subject>/<predicate>/" in told
    assert "GET /api/v1/claims?subject&predicate" in told
    assert f"DELETE /api/v1/fragments/{stored['id']}" in told
    assert "penicillin" not in told


@pytest.fixture
def lines():
    """The lines that are logged meanwhile."""
    with capture_logs(processors=[structlog.contextvars.merge_contextvars]) as found:
        yield found


def test_a_request_is_one_line_and_its_answer_says_the_id(client, db, settings, lines):
    settings.SLOW_REQUEST_MS = 0  # a process's first request loads all addresses
    answer = client.get("/healthz")
    its_own = [line for line in lines if line.get("request_id") == answer["X-Request-ID"]]
    told = [(line["event"], line.get("request"), line.get("code")) for line in its_own if line["log_level"] != "debug"]
    assert told == [("request_finished", "GET /healthz", 200)]


@pytest.mark.parametrize(
    ("behind", "given", "is_taken"),
    [(True, "0123456789abcdef", True), (True, "penicillin for all", False), (False, "0123456789abcdef", False)],
)
def test_the_proxy_in_front_gives_the_id(client, db, settings, behind, given, is_taken):
    settings.BEHIND_TLS = behind
    answer = client.get("/healthz", headers={"x-request-id": given})
    assert (answer["X-Request-ID"] == given) is is_taken


def test_a_slow_request_is_told_with_its_stages(alice, store, settings, lines):
    store("acme:main", "Allergic to penicillin.")
    body = {"namespace": "acme:main", "query": "penicillin"}
    settings.SLOW_REQUEST_MS = 300_000
    alice.client.post("/api/v1/search", body, format="json")
    assert not [line for line in lines if line["event"] == "slow_request"]
    settings.SLOW_REQUEST_MS = 1
    alice.client.post("/api/v1/search", body, format="json")
    (line,) = [line for line in lines if line["event"] == "slow_request"]
    assert (line["request"], line["code"], line["log_level"]) == ("POST /api/v1/search", 200, "warning")
    assert line["statements"] > 0
    assert {"embed", "candidates", "rank", "load"} <= line["stages"].keys()
    assert "penicillin" not in str(lines)
    settings.SLOW_REQUEST_MS = 0
    lines.clear()
    alice.client.post("/api/v1/search", body, format="json")
    assert not [line for line in lines if line["event"] == "slow_request"]


def test_a_message_carries_the_requests_id_and_nobodys_address():
    context = {"request_id": "1", "ip": "10.0.0.1", "user_id": 7, "parent_task_id": "2"}
    narrow_context(context=context)
    assert context == {"request_id": "1", "parent_task_id": "2"}
