"""What the fakes that speak HTTP share: a server in a thread of its own, and answers without a log."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar


class FakeServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1; `stopping` is set before it stops, so that a slow answer ends."""

    daemon_threads = True

    def __init__(self, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.stopping = threading.Event()

    @property
    def url(self) -> str:
        """The base URL of an OpenAI-compatible service."""
        return f"http://127.0.0.1:{self.server_port}/v1"


Server = TypeVar("Server", bound=FakeServer)


class FakeHandler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait for 40 ms

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, answering from a thread until the end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


def serve_until_interrupted(server: FakeServer) -> None:
    """For trying by hand."""
    with running(server):
        while True:
            time.sleep(3600)
