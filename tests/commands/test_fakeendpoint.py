"""manage.py fakeendpoint."""

import socket

import httpx2
import pytest
from django.core.management import CommandError, call_command

from memories.management.commands import fakeendpoint
from memories.providers import fake_servers


def test_it_serves_until_it_is_interrupted(monkeypatch, capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answers = []

    def interrupted(_):
        url = f"http://127.0.0.1:{port}/v1/embeddings"
        answers.append(httpx2.post(url, json={"model": "any", "input": ["heron"]}, trust_env=False).json())
        raise KeyboardInterrupt

    monkeypatch.setattr(fake_servers.time, "sleep", interrupted)
    call_command("fakeendpoint", "--port", str(port), "--dim", "8")
    assert f"EMBEDDINGS_URL=http://127.0.0.1:{port}/v1" in capsys.readouterr().out
    assert len(answers[0]["data"][0]["embedding"]) == 8


def test_an_unknown_mode_is_refused(monkeypatch):
    monkeypatch.setattr(fakeendpoint, "serve", lambda **_: pytest.fail("served"))
    with pytest.raises(CommandError, match="slow"):
        call_command("fakeendpoint", "--mode", "sulking")
