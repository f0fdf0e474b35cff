"""A service of our own that speaks as OpenAI's and Anthropic's: it can be slow, odd, wrong, dropping or dead.

By hand: `manage.py fakeupstream --port 9002 --mode slow`, and PROXY_UPSTREAM_URL=http://127.0.0.1:9002/v1. A chat whose
`model` is one of MODES is answered in that one.
"""

import hashlib
import json
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from memories.providers.fake_answers import FORMATS, FakeFormat
from memories.providers.fake_servers import FakeHandler, FakeServer, running, serve_until_interrupted
from memories.providers.fake_streams import REPLY, odd, varied

STATUS = {"unavailable": 503, "broken": 500, "refusing": 400, "busy": 429, "unauthorised": 401}
REPLIES = {"apologising": "I'm sorry, I don't know that.", "failing": "Error: out of memory", "mumbling": "Mhm."}
MODES = (
    *("right", "slow", "odd", "varied", "tool_calls", "echoing", "no_done", "endless"),
    *("silent", "dropping", "hanging_up", "no_json", *REPLIES, *STATUS),
)


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.body)


class FakeUpstream(FakeServer):
    """Serves everything under /v1/ in one of MODES, which may be changed at any time; keeps what it was asked.

    `left` is set when a caller went away before its answer was whole.
    """

    request_queue_size = 256

    def __init__(self, *, port: int = 0, mode: str = "right", pause: float = 0.05, keep: bool = True) -> None:
        super().__init__(port, UpstreamHandler)
        self.mode, self.pause, self.reply = mode, pause, REPLY
        self.asked: list[UpstreamRequest] | None = [] if keep else None
        self.left = threading.Event()


class Left(Exception):
    """The caller went away."""


class UpstreamHandler(FakeHandler):
    """One connection."""

    server: FakeUpstream
    disable_nagle_algorithm = True  # pieces go out at once, as they are

    def do_POST(self) -> None:
        """Answer according to the mode."""
        request = self._read_request()
        form = FORMATS.get(self.path.partition("?")[0])
        if form is None:
            self._elsewhere(request)
            return
        try:
            body = dict(request.json)
        except (ValueError, TypeError):
            self._fail(400, "no object")
            return
        mode = body["model"] if body.get("model") in MODES else self.server.mode
        if mode in STATUS:
            self._fail(STATUS[mode], mode)
        elif mode == "silent":
            self._pause(60.0)
        elif mode == "hanging_up":
            self.close_connection = True
        elif body.get("stream"):
            self._stream(form, mode, body)
        else:
            self._complete_answer(form, mode, body)

    def _fail(self, status: int, code: str) -> None:
        error = {"message": f"the upstream is {code}", "type": "fake", "param": None, "code": code}
        self._send(status, json.dumps({"error": error}).encode(), {"Retry-After": "7"})

    def do_GET(self) -> None:
        """The list of models, and for any other path what was asked."""
        self._elsewhere(self._read_request())

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def _elsewhere(self, request: UpstreamRequest) -> None:
        if self.path == "/v1/models":
            models = [{"id": mode, "object": "model", "created": 0, "owned_by": "fake"} for mode in MODES]
            self._send(200, json.dumps({"object": "list", "data": models}).encode(), {"X-Request-Id": "upstream-1"})
            return
        reply = {"method": request.method, "path": request.path, "sha256": hashlib.sha256(request.body).hexdigest()}
        hostile = {"Set-Cookie": "a=b", "Access-Control-Allow-Origin": "*", "X-NovaMem-Injected": "99"}
        self._send(418 if "teapot" in self.path else 200, json.dumps(reply).encode(), hostile)

    def _read_request(self) -> UpstreamRequest:
        request = UpstreamRequest(self.command, self.path, dict(self.headers.items()), self._body())
        if self.server.asked is not None:
            self.server.asked.append(request)
        return request

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _reply(self, mode: str, body: dict[str, Any]) -> str:
        if mode == "echoing":
            said = body["messages"] if "messages" in body else body["input"]
            last = said if isinstance(said, str) else said[-1]["content"]
            return last if isinstance(last, str) else last[-1]["text"]
        return REPLIES.get(mode, self.server.reply)

    def _complete_answer(self, form: FakeFormat, mode: str, body: dict[str, Any]) -> None:
        if mode == "no_json":
            self._send(200, b"<html>Welcome</html>")
            return
        data = json.dumps(form.whole(self._reply(mode, body), calls=mode == "tool_calls"), ensure_ascii=False).encode()
        if mode == "slow":
            self._pause(self.server.pause)
        if mode == "dropping":
            self._head(200, {"Content-Length": str(len(data)), "Content-Type": "application/json"})
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
        else:
            self._send(200, data)

    def _stream(self, form: FakeFormat, mode: str, body: dict[str, Any]) -> None:
        self._head(200, {"Transfer-Encoding": "chunked", "Content-Type": "text/event-stream; charset=utf-8"})
        for piece in self._pieces(form, mode, body):
            if mode in ("slow", "endless"):
                self._pause(self.server.pause)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if mode == "dropping":
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _pieces(self, form: FakeFormat, mode: str, body: dict[str, Any]) -> Iterator[bytes]:
        if mode == "varied":
            yield from varied(int(body.get("seed") or 0))
            return
        whole = form.tool_events() if mode == "tool_calls" else form.events(self._reply(mode, body))
        if mode == "odd":
            yield from odd(b"".join(whole), seed=int(body.get("seed") or 0))
        elif mode == "endless":
            while True:
                yield from whole[:-2]
        else:
            yield from {"dropping": whole[: len(whole) // 2], "no_done": whole[:-1]}.get(mode, whole)

    def _pause(self, seconds: float) -> None:
        """Wait, with an eye on the caller. Raise Left."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.server.stopping.is_set():
            if select.select([self.connection], [], [], min(left, 0.05))[0] and not self.connection.recv(
                1, socket.MSG_PEEK
            ):
                raise Left
        if self.server.stopping.is_set():
            raise Left

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        more = headers or {}
        self._head(status, {"Content-Length": str(len(body)), "Content-Type": "application/json", **more})
        self.wfile.write(body)

    def handle(self) -> None:
        """A caller that left is noted, and no news otherwise."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError, Left):
            self.server.left.set()
            self.close_connection = True


def serving(**options: Any) -> AbstractContextManager[FakeUpstream]:
    """Return a running upstream; arguments as FakeUpstream's."""
    return running(FakeUpstream(**options))


def serve(*, port: int, mode: str) -> None:
    """Serve until it is interrupted."""
    serve_until_interrupted(FakeUpstream(port=port, mode=mode, keep=False))
