"""manage.py fakeupstream."""

import socket

import httpx2
import pytest
from django.core.management import CommandError, call_command

from memories.management.commands import fakeupstream
from memories.providers import fake_servers, fake_upstream


def test_it_serves_until_it_is_interrupted(monkeypatch, capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answers = []

    def interrupted(_):
        body = {"model": "any", "messages": [{"role": "user", "content": "Hello there"}]}
        url = f"http://127.0.0.1:{port}/v1/chat/completions"
        answers.append(httpx2.post(url, json=body, trust_env=False).json())
        raise KeyboardInterrupt

    monkeypatch.setattr(fake_servers.time, "sleep", interrupted)
    call_command("fakeupstream", "--port", str(port))
    assert f"PROXY_UPSTREAM_URL=http://127.0.0.1:{port}/v1" in capsys.readouterr().out
    assert answers[0]["choices"][0]["message"]["content"] == fake_upstream.REPLY


def test_an_unknown_mode_is_refused(monkeypatch):
    monkeypatch.setattr(fakeupstream, "serve", lambda **_: pytest.fail("served"))
    with pytest.raises(CommandError, match="slow"):
        call_command("fakeupstream", "--mode", "sulking")
