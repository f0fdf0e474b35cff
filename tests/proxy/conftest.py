"""A web server in this process, with the real client in front of it and the fake upstream behind it."""

import socket
import threading
import time
from contextlib import asynccontextmanager

import anthropic
import httpx2
import openai
import pytest
import uvicorn
from django.utils import timezone

from memories import access, ingest, proxy
from memories.access import keys
from memories.models import Exchange, Fragment
from memories.providers import fake_upstream
from novamem.lifespan import tended
from novamem.request_limits import Bounded

NAMESPACE = "X-NovaMem-Namespace"


@asynccontextmanager
async def until_captured():
    """As the product's own server: chats that are still to be captured are waited for."""
    yield
    await proxy.stop()


@pytest.fixture
def upstream(settings):
    """Where chats go."""
    with fake_upstream.serving() as running:
        settings.PROXY_UPSTREAM_URL, settings.PROXY_UPSTREAM_KEY = running.url, "sk-of-the-upstream"
        yield running


@pytest.fixture
def served(committed, settings):
    """The web server: its URL, and what stops it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config = uvicorn.Config(tended(Bounded(), during=until_captured), log_config=None, timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        port = listening.getsockname()[1]
        while not server.started:
            time.sleep(0.01)

        def stop():
            server.should_exit = True
            thread.join(timeout=60)
            assert not thread.is_alive()

        yield f"http://127.0.0.1:{port}", stop
        stop()


@pytest.fixture
def web(served):
    """The URL of the web server."""
    return served[0]


@pytest.fixture
def stop(served):
    """Stops the web server as a signal would, after a second's grace."""
    return served[1]


@pytest.fixture
def issue(committed):
    """Issues a key in the committed project."""

    def make(**wish):
        owner = wish.pop("owner", None)
        default = {"namespaces": [f"{committed.name}:*"], "verbs": ["read", "write"], "ceiling": "tool_output"}
        return keys.issue(committed, keys.KeyRequest(**{**default, **wish}), owner=owner).text

    return make


@pytest.fixture
def key(issue):
    """Alice's key."""
    return issue(owner="alice", requests_per_minute=0)


@pytest.fixture
def main(committed):
    """The namespace that chats are about."""
    return f"{committed.name}:main"


@pytest.fixture
def client(web, key, main):
    """The real client with Alice's key, in the main namespace."""
    with httpx2.Client(trust_env=False) as http:
        yield openai.OpenAI(
            base_url=f"{web}/v1", api_key=key, max_retries=0, http_client=http, default_headers={NAMESPACE: main}
        )


@pytest.fixture
def claude(web, key, main):
    """Anthropic's real client with Alice's key, in the main namespace."""
    with anthropic.DefaultHttpxClient(trust_env=False) as http:
        yield anthropic.Anthropic(
            base_url=web, api_key=key, max_retries=0, http_client=http, default_headers={NAMESPACE: main}
        )


@pytest.fixture
def send(web, key, main):
    """Posts a chat as bare HTTP; headers of None are left out."""
    with httpx2.Client(base_url=web, trust_env=False, timeout=60) as http:

        def post(body, *, path="/v1/chat/completions", method="POST", timeout=60, **headers):
            wanted = {"Authorization": f"Bearer {key}", NAMESPACE: main, "Content-Type": "application/json"}
            wanted |= {name.replace("_", "-"): value for name, value in headers.items()}
            content = {"content": body} if isinstance(body, bytes) else {"json": body}
            content["timeout"] = timeout
            return http.request(method, path, headers={n: v for n, v in wanted.items() if v is not None}, **content)

        yield post


@pytest.fixture
def remember(service, main):
    """Stores a memory in the main namespace."""

    def store(text, **more):
        draft = ingest.Draft(namespace=main, content=text, **more)
        return ingest.store(service, ingest.prepare([draft]), now=timezone.now())[0].fragment

    return store


@pytest.fixture
def captured(service):
    """What waits for a worker, once as many exchanges are there: their turns."""

    def wait(number=1):
        end = time.monotonic() + 60
        while True:
            with access.enter(service, why="test"):
                rows = list(Exchange.objects.order_by("said_at").select_related("namespace"))
            if len(rows) >= number or time.monotonic() > end:
                assert len(rows) == number
                return rows
            time.sleep(0.02)

    return wait


@pytest.fixture
def memories(service):
    """Lets a worker work, and answers all memories."""

    def work():
        ingest.captures.ingest_exchanges(service, now=timezone.now())
        with access.enter(service, why="test"):
            return list(Fragment.objects.order_by("created_at", "sequence").select_related("namespace"))

    return work


def chat(text="Where does the heron nest?", **more):
    """A request body."""
    return {"model": "fake", "messages": [{"role": "user", "content": text}], **more}
