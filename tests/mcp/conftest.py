"""The real client of the protocol, over HTTP to a real server and over pipes to a real process."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from memories import access
from memories.models import Fragment


class Session:
    """Calls tools one by one, each over a connection of its own; `said` is what a tool answered."""

    def __init__(self, connect):
        self.connect = connect

    def do(self, work):
        """Runs `await work(client)`."""

        async def main():
            async with self.connect() as client:
                return await work(client)

        # In a thread of its own: the browser's tests leave an event loop running in this one.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(anyio.run, main).result()

    def tools(self):
        return {tool.name: tool for tool in self.do(lambda client: client.list_tools()).tools}

    def call(self, tool, **arguments):
        """What the tool answered. Raises Refused with its words."""
        result = self.do(lambda client: client.call_tool(tool, arguments))
        if result.is_error:
            raise Refused(result.content[0].text)
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content


class Refused(Exception):
    """A tool's error."""


def over_http(url, key, *, mode="auto", **headers):
    @asynccontextmanager
    async def connect():
        headers.setdefault("Authorization", f"Bearer {key}")
        async with (
            httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client

    return Session(connect)


@pytest.fixture
def alice(committed, agent_of):
    """Uses the graph and the memory as an agent of the committed project."""
    return agent_of(committed, owner="alice", requests_per_minute=0)


@pytest.fixture
def own_namespace(committed):
    """A namespace of hers."""
    return f"{committed.name}:main"


@pytest.fixture
def session(web, alice, own_namespace):
    """Her client; calls that name no namespace mean her place."""
    return over_http(web, alice.key, **{"X-NovaMem-Namespace": own_namespace})


@pytest.fixture
def piped(web_environment, alice, own_namespace):
    """Her client over a process that it starts."""

    @asynccontextmanager
    async def connect():
        environment = {**web_environment, "NOVAMEM_KEY": alice.key, "NOVAMEM_NAMESPACE": own_namespace}
        server = StdioServerParameters(command=sys.executable, args=["manage.py", "mcp"], env=environment, cwd=".")
        async with Client(server) as client:
            yield client

    return Session(connect)


@pytest.fixture
def rows(service):
    """What the project holds: {content: status}."""

    def read():
        with access.enter(service, why="test"):
            return dict(Fragment.objects.within(service.project_id).values_list("content", "status"))

    return read
