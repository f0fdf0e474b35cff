"""What logs may not hold."""

import logging
import sys

import httpx2
import pytest
from django.contrib.auth import get_user_model
from django.db import IntegrityError

from memories.access import keys
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
