"""The parts that docs/operations.md names, as Debian ships them, with all units as processes of their own."""

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import psycopg
import pytest

from memories.providers import fake_upstream
from novamem.database import Logins
from tests.novamem.conftest import (
    LOCAL,
    NAME,
    PATH,
    PROXIES,
    Manage,
    free_port,
    get,
    listens,
    manage_py,
    until,
    wait_for,
)

pytestmark = pytest.mark.long

FORGED = "203.0.113.9"
PAUSE = 1.0  # seconds between two pieces of a chat
STREAM = 300.0  # seconds after which a stream of events ends


@pytest.fixture
def upstream() -> Iterator[str]:
    """Answers chats word by word."""
    with fake_upstream.serving(mode="slow", pause=PAUSE) as running:
        yield running.url


@pytest.fixture
def fleet(manage: Manage, current: Logins, upstream: str) -> SimpleNamespace:
    """Two web servers that believe a proxy, three workers and a scheduler."""
    issued = manage_py(current, "apikey", "create", "--project", "acme", "--verbs", "read,write,admin", "--json")
    settings = {
        "DATABASE_URL": current.app,
        "BEHIND_TLS": "true",
        "ALLOWED_HOSTS": NAME,
        "PROXY_UPSTREAM_URL": upstream,
    }
    ports = [free_port(), free_port()]
    webs = [manage("web", "--port", str(port), "--processes", "1", **settings) for port in ports]
    for port, process in zip(ports, webs, strict=True):
        until(lambda port=port: get(f"http://{LOCAL}:{port}/healthz"), process)
    others = [manage(unit, DATABASE_URL=current.app) for unit in ("worker", "worker", "worker", "scheduler")]
    return SimpleNamespace(ports=ports, webs=webs, others=others, key=json.loads(issued.stdout)["key"])


@pytest.fixture(params=PROXIES)
def proxy(request: Any, fleet: SimpleNamespace, tmp_path: Path) -> Iterator[SimpleNamespace]:
    """The configuration that ships, in front of them."""
    with request.param(tmp_path, fleet.ports) as running:
        yield running


@pytest.fixture
def client(proxy: SimpleNamespace, fleet: SimpleNamespace) -> Iterator[httpx2.Client]:
    """Asks over TLS, under the name that is served."""
    headers = {"Host": NAME, "Authorization": f"Bearer {fleet.key}", "X-Forwarded-For": FORGED}
    with httpx2.Client(base_url=proxy.secure, headers=headers, verify=False, trust_env=False, timeout=60) as asks:
        yield asks


@pytest.mark.timeout(900)  # nine processes start
def test_a_proxy_stands_before_two_web_servers_and_three_workers(
    client: httpx2.Client, proxy: SimpleNamespace, fleet: SimpleNamespace
) -> None:
    """One test, for what it starts takes long."""
    asked = ends_tls_and_is_believed(client, proxy)
    holds_back_nothing_and_limits_no_body(client)
    fleet.webs[0].send_signal(signal.SIGTERM)  # which nobody misses
    answers = [client.get("/api/v1/fragments").status_code for _ in range(30)]
    assert answers == [200] * 30
    fleet.others[0].kill()  # one of three workers
    started = wait_for(lambda: begun(client))
    wait_for(lambda: client.get(f"/api/v1/operations/{started.json()['id']}").json()["state"] == "succeeded")
    fleet.webs[1].send_signal(signal.SIGTERM)
    told = [web.communicate(timeout=60)[1] for web in fleet.webs]
    assert [web.returncode for web in fleet.webs] == [0, 0]
    assert all("GET /api/v1/fragments" in lines for lines in told)  # each had its turn
    assert asked in "".join(told)
    assert FORGED not in "".join(told)


def begun(client: httpx2.Client) -> Any:
    """The answer of who starts a consolidation; none until Caddy has left out the server that ended."""
    answer = client.post("/api/v1/consolidations", json={"namespace": "acme:main"})
    return answer if answer.status_code == 202 else None


def ends_tls_and_is_believed(client: httpx2.Client, proxy: SimpleNamespace) -> str:
    """What a browser sees; the id of a request."""
    moved = httpx2.get(f"{proxy.plain}/memories/?q=x", headers={"Host": NAME}, trust_env=False)
    assert moved.status_code in (301, 308)
    assert moved.headers["Location"] == f"https://{NAME}/memories/?q=x"
    page = client.get("/login/")
    assert page.status_code == 200
    assert page.headers["Strict-Transport-Security"]
    assert "; Secure" in page.headers["Set-Cookie"]
    answers = [client.get("/api/v1/fragments") for _ in range(8)]
    assert {answer.status_code for answer in answers} == {200}
    return str(answers[0].headers["X-Request-ID"])


def holds_back_nothing_and_limits_no_body(client: httpx2.Client) -> None:
    """Streams of chats and events come piece by piece; who refuses three megabytes is NovaMem."""
    # Of this run alone: what is forgotten below may not be said again.
    text = {"namespace": "acme:main", "content": f"The heron nests in the reeds of {secrets.token_hex(4)}."}
    large = client.post("/api/v1/fragments", json={**text, "content": "x" * (3 << 20)})
    assert large.headers["Content-Type"] in ("application/json", "application/problem+json"), large.text[:200]
    chat = {"model": "fake", "stream": True, "messages": [{"role": "user", "content": "Where does it nest?"}]}
    with client.stream("POST", "/v1/chat/completions", json=chat, headers={"X-NovaMem-Namespace": "acme:main"}) as said:
        assert said.status_code == 200
        times = [time.monotonic() for line in said.iter_lines() if line.startswith("data:")]
    assert times[-1] - times[0] > PAUSE
    accepted, begun = {"Accept": "text/event-stream"}, time.monotonic()
    stored = client.post("/api/v1/fragments", json=text).json()["id"]
    with ThreadPoolExecutor(1) as threads, client.stream("GET", "/api/v1/events", headers=accepted) as stream:
        assert stream.status_code == 200
        erased = threads.submit(client.delete, f"/api/v1/fragments/{stored}")
        assert any(stored in line for line in stream.iter_lines())
    assert erased.result().status_code == 204
    assert time.monotonic() - begun < STREAM / 2


@pytest.fixture(scope="session")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a RabbitMQ of the tests' own, with a port mapper of its own."""
    folder, port, mapper = tmp_path_factory.mktemp("rabbitmq"), free_port(), free_port()
    (folder / "plugins").write_text("[].\n")
    given = {
        **os.environ,
        "HOME": str(folder),
        "PATH": PATH,
        "ERL_EPMD_PORT": str(mapper),
        "ERL_EPMD_ADDRESS": LOCAL,
        "RABBITMQ_NODENAME": "of-the-tests@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": LOCAL,
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(free_port()),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_CONF_ENV_FILE": os.devnull,
    }
    program = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # the one in the path changes the user and forgets all of this
    with (folder / "out").open("w") as log:
        server: Any = subprocess.Popen([program], env=given, stdout=log, stderr=log)
        try:
            until(lambda: listens(port), server)
            yield f"amqp://guest:guest@{LOCAL}:{port}//"
        finally:
            server.terminate()
            server.wait()
            subprocess.run(["epmd", "-port", str(mapper), "-kill"], env=given, check=False, capture_output=True)


@pytest.mark.rabbitmq
def test_units_share_rabbitmq(manage: Manage, current: Logins, rabbitmq: str) -> None:
    settings = {"DATABASE_URL": current.app, "CELERY_BROKER_URL": rabbitmq}
    with psycopg.connect(current.owner, autocommit=True) as connection:
        for unit in ("worker", "scheduler"):  # the worker shows itself once; later beats come through the queue
            connection.execute("DELETE FROM memories_heartbeat")
            process = manage(unit, **settings)
            until(lambda: connection.execute("SELECT 1 FROM memories_heartbeat").fetchone(), process)
