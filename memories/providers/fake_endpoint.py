"""An OpenAI-compatible embeddings endpoint of our own, for tests and for trying: it can be slow, wrong or dead.

By hand: `manage.py fakeendpoint --port 9001 --mode slow`, and EMBEDDINGS_URL=http://127.0.0.1:9001/v1.
"""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from memories.providers.fake import FakeEmbedder
from memories.providers.fake_servers import FakeHandler, FakeServer, running, serve_until_interrupted

Items = list[dict[str, Any]]
POISON = "poison"  # a text that `picky` refuses


def _changed(field: str, value: Any) -> Callable[[Items], Items]:
    return lambda items: [*items[:-1], {**items[-1], field: value}]


# What becomes of right answers.
WRONG: dict[str, Callable[[Items], Items]] = {
    "too_few": lambda items: items[:-1],
    "too_many": lambda items: [*items, {**items[-1], "index": len(items)}],
    "twice": lambda items: [*items[:-1], {**items[-1], "index": 0}] if len(items) > 1 else [*items, *items],
    "no_index": lambda items: [{"embedding": item["embedding"]} for item in items],
    "shuffled": lambda items: items[::-1],
    "wrong_dim": lambda items: [{**item, "embedding": item["embedding"][:-1]} for item in items],
    "ragged": lambda items: _changed("embedding", items[-1]["embedding"] + [0.5])(items),
    "nan": lambda items: _changed("embedding", [float("nan")] * len(items[-1]["embedding"]))(items),
    "infinite": lambda items: _changed("embedding", [1e999] * len(items[-1]["embedding"]))(items),
    "zero": lambda items: _changed("embedding", [0.0] * len(items[-1]["embedding"]))(items),
    "words": lambda items: _changed("embedding", ["1.0"] * len(items[-1]["embedding"]))(items),
    "nothing": lambda items: _changed("embedding", None)(items),
    "long": lambda items: [{**item, "embedding": [x * 40 for x in item["embedding"]]} for item in items],
}
STATUS = {"unavailable": 503, "broken": 500, "refusing": 400, "too_large": 413, "unknown_model": 404, "busy": 429}
MODES = (
    "right",
    "slow",
    "dripping",
    "hanging_up",
    "no_json",
    "no_object",
    "huge",
    "redirecting",
    *STATUS,
    *WRONG,
    "picky",
)


class FakeEndpoint(FakeServer):
    """Serves POST /v1/embeddings in one of MODES, which may be changed at any time; keeps what it was asked."""

    def __init__(self, *, port: int = 0, dim: int = 384, mode: str = "right", pause: float = 60.0) -> None:
        super().__init__(port, EndpointHandler)
        self.mode, self.pause, self.embedder = mode, pause, FakeEmbedder(dim)
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []


class EndpointHandler(FakeHandler):
    """One connection."""

    server: FakeEndpoint

    def do_POST(self) -> None:
        """Answer according to the mode."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers["Authorization"])
        mode = self.server.mode
        if self.path != "/v1/embeddings":
            self._send(404, b"{}")
        elif mode == "picky" and any(POISON in text for text in body["input"]):
            self._send(400, b'{"error": "this text is not taken"}')
        elif mode in STATUS:
            self._send(STATUS[mode], json.dumps({"error": f"secret detail of {body['input']}"}).encode())
        else:
            getattr(self, f"_{mode}", self._right)(body["input"])

    def _right(self, texts: list[str]) -> None:
        vectors = self.server.embedder.embed(texts)
        items = [{"index": n, "embedding": [float(x) for x in vector]} for n, vector in enumerate(vectors)]
        items = WRONG.get(self.server.mode, list)(items)
        self._send(200, json.dumps({"object": "list", "data": items}).encode())

    def _slow(self, texts: list[str]) -> None:
        self.server.stopping.wait(self.server.pause)
        self._right(texts)

    def _dripping(self, texts: list[str]) -> None:
        self._head(200, {"Content-Length": "100000"})
        for _ in range(100_000):
            if self.server.stopping.wait(0.05):
                break
            self.wfile.write(b" ")

    def _hanging_up(self, texts: list[str]) -> None:
        self._head(200, {"Content-Length": "1000"})
        self.wfile.write(b'{"data": [')
        self.close_connection = True

    def _no_json(self, texts: list[str]) -> None:
        self._send(200, b"<html>Welcome</html>")

    def _no_object(self, texts: list[str]) -> None:
        self._send(200, b'["data"]')

    def _huge(self, texts: list[str]) -> None:
        self._head(200, {"Transfer-Encoding": "chunked"})
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        while not self.server.stopping.is_set():
            self.wfile.write(piece)

    def _redirecting(self, texts: list[str]) -> None:
        self._head(307, {"Location": f"{self.server.url}/embeddings", "Content-Length": "0"})

    def _send(self, status: int, body: bytes) -> None:
        self._head(status, {"Content-Length": str(len(body)), "Content-Type": "application/json"})
        self.wfile.write(body)

    def handle(self) -> None:
        """A client that had enough and left is no news."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True


def serving(**options: Any) -> AbstractContextManager[FakeEndpoint]:
    """Return a running endpoint; arguments as FakeEndpoint's."""
    return running(FakeEndpoint(**options))


def serve(*, port: int, dim: int, mode: str) -> None:
    """Serve until it is interrupted."""
    serve_until_interrupted(FakeEndpoint(port=port, dim=dim, mode=mode))
