"""The snippets of /connect/ are run as they stand, by a shell, by Python, by the protocol's own client."""

import json
import os
import string
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memories import access
from memories.console.connect import snippets
from memories.models import Fragment

CLIENTS = Path(__file__).resolve().parents[2] / "clients/python"


@pytest.fixture
def key(committed, agent_of):
    """What the page's command would print."""
    return agent_of(committed, owner="newcomer").key


@pytest.fixture
def snippet(web, committed):
    """The text of a snippet for the running server."""
    texts = {each.name: each.text for each in snippets(web, namespace=f"{committed.name}:assistant")}
    return texts.__getitem__


@pytest.fixture
def run(key, tmp_path):
    """Runs a program that reads a snippet; what it printed."""

    def start(text, *program):
        environment = {"PATH": os.environ["PATH"], "NOVAMEM_KEY": key, "PYTHONPATH": str(CLIENTS), "NO_PROXY": "*"}
        ended = subprocess.run(
            program, input=text, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return start


@pytest.fixture
def kept(service):
    """The texts of what has arrived."""

    def read():
        with access.enter(service, why="test"):
            return list(Fragment.objects.values_list("namespace__name", "content"))

    return read


def test_curl(snippet, run, kept, committed):
    printed = run(snippet("curl"), "bash", "-e")
    assert kept() == [(f"{committed.name}:assistant", "The user prefers short answers.")]
    assert printed.count("The user prefers short answers.") == 2


def test_python(snippet, run, kept, committed):
    printed = run(snippet("python"), sys.executable, "-")
    assert kept() == [(f"{committed.name}:assistant", "The user prefers short answers.")]
    assert "The user prefers short answers." in printed


def test_langgraph(snippet, run, kept, committed):
    assert run(snippet("langgraph"), sys.executable, "-") == "answers Ada prefers short answers.\n"
    assert [namespace for namespace, _ in kept()] == [f"{committed.name}:assistant"]


def test_mcp(snippet, key, kept, committed):
    told = json.loads(string.Template(snippet("mcp")).substitute(NOVAMEM_KEY=key))["mcpServers"]["novamem"]
    assert told["type"] == "http"

    async def retain():
        async with (
            httpx2.AsyncClient(headers=told["headers"], trust_env=False, timeout=60) as http,
            Client(streamable_http_client(told["url"], http_client=http)) as client,
        ):
            return await client.call_tool("retain", {"content": "The user prefers short answers."})

    with ThreadPoolExecutor(1) as pool:  # the browser's tests leave an event loop running in this thread
        assert not pool.submit(anyio.run, retain).result().is_error
    assert kept() == [(f"{committed.name}:assistant", "The user prefers short answers.")]
