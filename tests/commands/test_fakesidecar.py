"""manage.py fakesidecar."""

import socket

import httpx2
import pytest
from django.core.management import CommandError, call_command

from memories.management.commands import fakesidecar
from memories.providers import fake_servers


def test_it_serves_until_it_is_interrupted(monkeypatch, capsys):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answers = []

    def interrupted(_):
        url = f"http://127.0.0.1:{port}/api/generate"
        answers.append(httpx2.post(url, json={"prompt": '{"task": "check"}'}, trust_env=False).json())
        raise KeyboardInterrupt

    monkeypatch.setattr(fake_servers.time, "sleep", interrupted)
    call_command("fakesidecar", "--port", str(port))
    assert f"LLM_SIDECAR_URL=http://127.0.0.1:{port}" in capsys.readouterr().out
    assert answers == [{"done": True, "response": '{"ready": true}'}]


def test_an_unknown_mode_is_refused(monkeypatch):
    monkeypatch.setattr(fakesidecar, "serve", lambda **_: pytest.fail("served"))
    with pytest.raises(CommandError, match="hang"):
        call_command("fakesidecar", "--mode", "sulking")
