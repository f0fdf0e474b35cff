"""Who may post to /mcp: the key, the host and a page's origin."""

import json
import socket

import httpx2
import pytest

from memories import mcp
from novamem import request_limits
from tests.novamem.conftest import door

__all__ = ["door"]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post(url, key=None, body=None, **headers):
    told = {**ACCEPT, **({"Authorization": f"Bearer {key}"} if key else {}), **headers}
    return httpx2.post(f"{url}/mcp", json=body or PING, headers=told, trust_env=False)


def test_a_key_is_enough(web, alice):
    answer = post(web, alice.key)
    assert (answer.status_code, answer.json()["result"]) == (200, {})


@pytest.mark.parametrize("key", [None, "nova_nothing", "nova_aaaaaaaaaa_" + "b" * 43 + "_cccccc"])
def test_nobody_and_strangers_look_the_same(web, key):
    answer = post(web, key)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    assert ("invalid_token" in answer.headers["WWW-Authenticate"]) == bool(key)
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[", "a b"])
def test_another_host_is_refused(web, alice, host):
    assert post(web, alice.key, Host=host).status_code in (400, 421)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "http://["])
def test_a_page_of_another_origin_is_refused(web, alice, origin):
    answer = post(web, alice.key, Origin=origin)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")


def test_a_page_of_ours_is_not(web, alice):
    assert post(web, alice.key, Origin=web).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_nothing_but_posting(web, alice, method):
    answer = httpx2.request(method, f"{web}/mcp", headers={"Authorization": f"Bearer {alice.key}"}, trust_env=False)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_the_rate_of_the_grant_holds(web, committed, agent_of):
    key = agent_of(committed, requests_per_minute=2).key
    codes = [post(web, key).status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    assert int(post(web, key).headers["Retry-After"]) > 0


def test_a_body_that_is_too_large_is_refused(web, alice):
    assert post(web, alice.key, {**PING, "params": {"x": "y" * 9_000_000}}).status_code == 413


def test_who_drips_is_refused(door, committed, agent_of, monkeypatch):
    monkeypatch.setattr(request_limits, "SILENCE", 0.5)
    monkeypatch.setattr(request_limits, "LINGER", 0.1)
    agents, streams = mcp.Door(), request_limits.Bounded()

    async def guarded(scope, receive, send):
        await streams.guard(agents, scope, receive, send)

    address = door(guarded)
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {agent_of(committed).key}\r\n"
    with socket.create_connection(address) as raw:
        raw.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n".encode())
        told = b""
        while piece := raw.recv(1 << 12):
            told += piece
    assert told.startswith(b"HTTP/1.1 408")
    assert json.loads(told.partition(b"\r\n\r\n")[2])["code"] == "too_slow"


def test_the_pages_are_still_there(web):
    assert httpx2.get(f"{web}/healthz", trust_env=False).json() == {"status": "ok"}
