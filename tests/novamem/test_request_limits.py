"""What callers send: whole whatever its framing, and refused when it is too much, too slow or finds no room."""

import asyncio
import resource
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import httpx2
import pytest
import uvicorn
from django.conf import settings as django_settings
from django.core.exceptions import RequestAborted
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt

from memories.access import keys
from novamem import request_limits
from novamem import web as web_process
from novamem.asgi_bridge import Pages
from novamem.request_limits import Bounded

MEGABYTE = 1 << 20
LIMIT = django_settings.DATA_UPLOAD_MAX_MEMORY_SIZE


@csrf_exempt
def size(request: HttpRequest, rest: str = "") -> HttpResponse:
    """How much came."""
    return HttpResponse(str(len(request.read())))


urlpatterns = [path("size", size), path("v1/<path:rest>", size), path("api/v1/<path:rest>", size)]


@pytest.fixture(params=[lambda: Pages(threads=1), Bounded], ids=["pages", "streams"])
def listening(
    request: Any, settings: Any, committed: Any, door: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, int]:
    """Where either kind of handler listens."""
    settings.ROOT_URLCONF = __name__
    monkeypatch.setattr(request_limits, "LINGER", 0.5)
    listening: tuple[str, int] = door(request.param())
    return listening


def head(place: str, *lines: str) -> bytes:
    """The beginning of a POST."""
    return "\r\n".join([f"POST {place} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    """A piece of a body that does not say its length."""
    return b"%x\r\n%b\r\n" % (len(data), data)


CHUNKED = "Transfer-Encoding: chunked"


def answered(raw: socket.socket) -> httpx2.Response:
    """What came, to the end of the connection."""
    told = b""
    while piece := raw.recv(1 << 16):
        told += piece
    start, _, body = told.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in start.decode().split("\r\n")[1:]]
    return httpx2.Response(int(start.split()[1]), headers=[(name, value) for name, _, value in lines], content=body)


def problem_of(answer: httpx2.Response) -> tuple[int, str]:
    """Status and code; the caller is told which request it was, and that the connection ends."""
    told = answer.json()
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert told["request_id"] == answer.headers["X-Request-Id"] != ""
    assert answer.headers["Connection"] == "close"
    return answer.status_code, told["code"]


@pytest.fixture
def admin(committed: Any, web: str) -> Iterator[httpx2.Client]:
    """Who may do everything, in front of the product's own server."""
    wish = keys.KeyRequest([f"{committed.name}:*"], ["read", "write", "admin"], "tool_output")
    headers = {"Authorization": f"Bearer {keys.issue(committed, wish, owner='alice').text}"}
    headers["Content-Type"] = "application/json"
    with httpx2.Client(base_url=f"{web}/api/v1", headers=headers, trust_env=False, timeout=60) as client:
        yield client


def framed(body: bytes, chunked: bool) -> Any:
    """The body with its length, or without."""
    return iter([body]) if chunked else body


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_is_read_whatever_its_framing(admin: httpx2.Client, chunked: bool) -> None:
    answer = admin.post("/backups", content=framed(b'{"policy": "nonsense"}', chunked))
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "policy")


@pytest.mark.parametrize("chunked", [False, True])
def test_another_body_under_the_key_is_refused_whatever_its_framing(admin: httpx2.Client, chunked: bool) -> None:
    told = [
        admin.post("/backups", content=framed(body, chunked), headers={"Idempotency-Key": "k1"})
        for body in (b'{"include_embeddings": false}', b'{"include_embeddings": true}')
    ]
    assert [answer.status_code for answer in told] == [202, 422]
    assert told[1].json()["code"] == "idempotency_mismatch"


def test_a_body_without_length_is_whole(listening: tuple[str, int]) -> None:
    data = [b"a" * MEGABYTE] * 5  # more than stays in memory
    with socket.create_connection(listening) as raw:
        raw.sendall(head("/size", CHUNKED, "Connection: close"))
        for piece in data:
            raw.sendall(chunk(piece))
        raw.sendall(b"0\r\n\r\n")
        assert answered(raw).text == str(5 * MEGABYTE)


def test_a_length_that_is_too_large_is_refused_before_anything_is_read(listening: tuple[str, int]) -> None:
    with socket.create_connection(listening) as raw:
        raw.sendall(head("/size", f"Content-Length: {LIMIT + request_limits.LITTLE + 1}", "Expect: 100-continue"))
        assert problem_of(answered(raw)) == (413, "too_large")


def test_a_body_that_grows_too_large_is_refused(listening: tuple[str, int]) -> None:
    with override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=MEGABYTE), socket.create_connection(listening) as raw:
        raw.sendall(head("/size", CHUNKED) + chunk(b"a" * (MEGABYTE + request_limits.LITTLE)))
        time.sleep(0.2)  # all of that is allowed
        raw.sendall(chunk(b"a"))
        assert problem_of(answered(raw)) == (413, "too_large")


def test_files_may_be_larger() -> None:
    upload = reverse("console:upload-backup")
    assert {request_limits.limit_of(place) for place in ("/api/v1/restores", upload)} == {
        django_settings.RESTORE_MAX_BYTES
    }
    assert request_limits.limit_of("/v1/files") == request_limits.PASSED
    assert {request_limits.limit_of(place) for place in ("/", "/v1/chat/completions", "/api/v1/search")} == {LIMIT}


def test_the_proxy_refuses_in_openais_words(listening: tuple[str, int]) -> None:
    with socket.create_connection(listening) as raw:
        raw.sendall(head("/v1/chat/completions", f"Content-Length: {2 * LIMIT}"))
        answer = answered(raw)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert answer.headers["X-Request-Id"]


def test_who_falls_silent_is_refused(listening: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "SILENCE", 0.4)
    with socket.create_connection(listening) as raw:
        raw.sendall(head("/size", "Content-Length: 4"))
        for _ in range(3):
            time.sleep(0.2)
            raw.sendall(b"a")  # slow, but not silent
        assert problem_of(answered(raw)) == (408, "too_slow")


def test_who_drips_is_refused(listening: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "SILENCE", 0.6)
    with socket.create_connection(listening) as raw:
        raw.sendall(head("/size", "Content-Length: 1000"))
        with suppress(ConnectionError):
            for _ in range(40):
                time.sleep(0.1)
                raw.sendall(b"a")  # never silent, and never done
        assert problem_of(answered(raw)) == (408, "too_slow")


@pytest.mark.long
def test_who_sends_no_head_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing, a part of one, a byte now and then; also after a request that was answered."""
    monkeypatch.setattr(web_process, "HEAD", 1.0)
    answered_once = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    def ends_after(sent: bytes, then: bytes) -> float:
        with socket.create_connection(listening.getsockname()) as raw:
            raw.settimeout(0.1)
            raw.sendall(sent)
            begun = time.monotonic()
            while time.monotonic() - begun < 20:
                try:
                    if raw.recv(1 << 12) == b"":
                        break
                    begun = time.monotonic()
                except TimeoutError:
                    raw.sendall(then)
                except ConnectionError:
                    break
            return time.monotonic() - begun

    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(application, http=web_process.TimedProtocol, lifespan="off", ws="none", log_config=None)
    config.timeout_keep_alive = 10
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        beginnings = (b"", b"GET /a", b"GET / HTTP/1.1\r\nX-Slow: ", answered_once + b"GET / HTTP/1.1\r\nX: ")
        assert [n for n, sent in enumerate(beginnings) if not 0.5 < ends_after(sent, b"a" if sent else b"") < 5] == []
        assert ends_after(answered_once, b"") > 5, "one that is kept alive is not in the middle of a head"
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.mark.long
def test_the_product_serves_by_that_protocol(web: str) -> None:
    host, port = web.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.settimeout(60)
        raw.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        with suppress(ConnectionError):
            assert raw.recv(1) == b""


@contextmanager
def small_disk() -> Iterator[None]:
    """No file can grow: the kernel refuses, as it does for a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def spools(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Where bodies went, with the threads that wrote to the disk."""
    made: list[Any] = []

    class Spool(request_limits.tempfile.SpooledTemporaryFile):  # type: ignore[type-arg]
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            self.threads: set[str] = set()
            made.append(self)

        def write(self, piece: Any) -> int:
            self.threads.add(threading.current_thread().name)
            return super().write(piece)

    monkeypatch.setattr(request_limits.tempfile, "SpooledTemporaryFile", Spool)
    return made


def test_a_full_disk_is_told(listening: tuple[str, int], spools: list[Any]) -> None:
    with small_disk(), socket.create_connection(listening) as raw:
        raw.sendall(head("/size", f"Content-Length: {4 * MEGABYTE}"))
        raw.sendall(b"a" * 3 * MEGABYTE)
        assert problem_of(answered(raw)) == (507, "no_space")
    assert [spool.closed for spool in spools] == [True]


def test_the_event_loop_does_not_write_to_the_disk(listening: tuple[str, int], spools: list[Any]) -> None:
    for megabytes in (1, 4):
        with socket.create_connection(listening) as raw:
            raw.sendall(head("/size", f"Content-Length: {megabytes * MEGABYTE}", "Connection: close"))
            raw.sendall(b"a" * megabytes * MEGABYTE)
            assert answered(raw).text == str(megabytes * MEGABYTE)
    small, large = (spool.threads for spool in spools)
    assert len(small) == 1
    assert large - small, "all was written by the event loop"
    while not all(spool.closed for spool in spools):
        time.sleep(0.01)  # which the answer does not wait for


@pytest.mark.parametrize(
    ("end", "error"), [("leaves", RequestAborted), ("grows", request_limits.RequestRefused), ("breaks", RuntimeError)]
)
def test_what_was_taken_in_is_let_go(end: str, error: type[Exception], spools: list[Any]) -> None:
    events = [{"type": "http.request", "body": b"a" * 100, "more_body": True}]
    more = {"leaves": {"type": "http.disconnect"}, "grows": {**events[0], "body": bytes(LIMIT * 2)}}

    async def receive() -> Any:
        if events:
            return events.pop()
        if end == "breaks":
            raise RuntimeError
        return more[end]

    within = request_limits.Within({"path": "/size", "headers": []}, receive)
    # In a thread of its own: a browser's event loop may run in that of the tests.
    with ThreadPoolExecutor(1) as thread, pytest.raises(error):
        thread.submit(lambda: asyncio.run(Bounded().read_body(within))).result()
    assert [spool.closed for spool in spools] == [True]


def test_a_handshake_is_a_request_like_any_other(web: str) -> None:
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    headers["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    for place in ("/healthz", "/api/v1/events"):
        plain, answer = (httpx2.get(f"{web}{place}", headers=given, trust_env=False) for given in ({}, headers))
        assert answer.status_code == plain.status_code < 500
