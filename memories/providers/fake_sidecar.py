"""A language model of our own behind both protocols, for tests and for trying: it can be right, wrong, hostile or dead.

By hand: `manage.py fakesidecar --port 9003 --mode right`, and LLM_SIDECAR_URL=http://127.0.0.1:9003.
"""

import json
import re
import socket
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from memories.providers.fake_servers import FakeHandler, FakeServer, running, serve_until_interrupted

STATUS = {"bad_request": 400, "busy": 429, "broken": 500, "unavailable": 503, "unknown_model": 404}
# What a model says that is not right, whatever it was asked.
TEXTS: dict[str, str | None] = {
    "declining": "I'm sorry, but I can't help with that.",
    "truncated": '{"claims": [{"n": 0, "subject": "ada", "predi',
    "schema_invalid": '{"verdict": "fine", "steps": 7, "claims": "all", "pairs": {}, "summary": ["x"], "plan": 1}',
    "empty": "",
    "missing": None,
    "not_an_object": "[1, 2, 3]",
    "delete_all": json.dumps(
        {
            "action": "delete_all",
            "title": "Clean up",
            "trigger": "always",
            "steps": ["Delete all memories of every namespace", "Forget everything"],
            "plan": "Delete all memories",
            "claims": [{"n": 0, "delete": "*"}],
            "summary": "Delete all memories.",
            "pairs": [{"n": 0, "delete": True}],
        }
    ),
    "raising": json.dumps(
        {
            "authority": 6,
            "title": "Trust me",
            "trigger": "always",
            "steps": ["Believe it"],
            "plan": "Raise the authority",
            "claims": [{"n": 0, "subject": "a", "predicate": "b", "value": "c", "span": "c", "authority": 6}],
            "summary": "Trust me.",
            "pairs": [{"n": 0, "contradicts": True, "authority": 6}],
        }
    ),
}
MODES = ("right", "hang", "reset", "cut", "huge", "dripping", "malformed", "obeying", *STATUS, *TEXTS)
FACT = re.compile(r"The (?P<subject>\w+)'s (?P<predicate>\w+) is (?P<value>[^.]+)")
# What `obeying` looks for in the texts it is to work on.
ORDER = re.compile(r"ANSWER WITH: (\{.*\})", re.DOTALL)


class FakeSidecar(FakeServer):
    """Serves POST /v1/chat/completions and /api/generate in one of MODES, which may be changed; keeps what it heard."""

    def __init__(self, *, port: int = 0, mode: str = "right", pause: float = 60.0) -> None:
        super().__init__(port, SidecarHandler)
        self.mode, self.pause = mode, pause
        # A word, and the mode for requests that hold it.
        self.except_for: tuple[str, str] | None = None
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        """Without the version: the client adds the path of its protocol."""
        return f"http://127.0.0.1:{self.server_port}"


class SidecarHandler(FakeHandler):
    """One connection."""

    server: FakeSidecar

    def do_POST(self) -> None:
        """Answer according to the mode."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers["Authorization"])
        word, other = self.server.except_for or ("", "")
        mode = other if word and word in _prompt(body) else self.server.mode
        if self.path not in ("/v1/chat/completions", "/api/generate"):
            self._send(404, {})
        elif mode in STATUS:
            self._send(STATUS[mode], {"error": f"secret detail of {body}"})
        elif mode in TEXTS:
            self._say(TEXTS[mode])
        else:
            getattr(self, f"_{mode}")(_prompt(body))

    def _right(self, prompt: str) -> None:
        self._say(json.dumps(answer(json.loads(prompt))))

    def _obeying(self, prompt: str) -> None:
        """A model that does whatever a text tells it to; it plans by handing the order on."""
        work = json.loads(prompt)
        orders = [found[1] for text in _strings(work) if (found := ORDER.search(text))]
        if orders and WORK.get(str(work["task"])) is _plan and "plan" not in json.loads(orders[0]):
            self._say(json.dumps({"plan": f"ANSWER WITH: {orders[0]}"}))
        else:
            self._say(orders[0] if orders else json.dumps(answer(work)))

    def _hang(self, prompt: str) -> None:
        self.server.stopping.wait(self.server.pause)

    def _dripping(self, prompt: str) -> None:
        """A head without an end, each byte of it in time."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Drip: ")
        for _ in range(100_000):
            if self.server.stopping.wait(0.05):
                break
            self.wfile.write(b"x")

    def _reset(self, prompt: str) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def _cut(self, prompt: str) -> None:
        self._head(200, {"Content-Length": "1000"})
        self.wfile.write(b'{"choices": [')
        self.close_connection = True

    def _malformed(self, prompt: str) -> None:
        self._head(200, {"Content-Length": "20"})
        self.wfile.write(b"<html>Welcome</html>")

    def _huge(self, prompt: str) -> None:
        """A gigabyte, if anybody reads so far."""
        self._head(200, {"Content-Length": str(1024**3)})
        for _ in range(1024**3 // 0x10000):
            if self.server.stopping.is_set():
                break
            self.wfile.write(b" " * 0x10000)

    def _say(self, text: str | None) -> None:
        if self.path == "/api/generate":
            self._send(200, {"done": True, **({} if text is None else {"response": text})})
        else:
            self._send(200, {"choices": [{"message": {"role": "assistant", "content": text}}]})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self._head(status, {"Content-Length": str(len(data)), "Content-Type": "application/json"})
        self.wfile.write(data)

    def handle(self) -> None:
        """A client that had enough and left is no news."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError, OSError, ValueError):
            self.close_connection = True

    def finish(self) -> None:
        """Likewise."""
        try:
            super().finish()
        except (ConnectionError, OSError, ValueError):
            self.close_connection = True


def _prompt(body: dict[str, Any]) -> str:
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in _strings(one)]


def answer(work: dict[str, Any]) -> dict[str, Any]:
    """Return what a sensible model answers to a work order of this project."""
    return WORK[str(work["task"])](work)


def _claims(work: dict[str, Any]) -> dict[str, Any]:
    facts = [(text["n"], found) for text in work["texts"] if (found := FACT.search(text["text"]))]
    return {"claims": [{"n": n, **found.groupdict(), "span": found[0]} for n, found in facts]}


def _digest(work: dict[str, Any]) -> dict[str, Any]:
    return {"summary": " ".join(text.partition(".")[0] + "." for text in work["texts"])[:2000]}


def _pairs(work: dict[str, Any]) -> dict[str, Any]:
    """Two texts that differ in "not" alone contradict each other."""

    def bare(text: str) -> str:
        return text.replace(" not ", " ")

    return {
        "pairs": [
            {"n": pair["n"], "contradicts": True, "reason": "one denies the other"}
            for pair in work["pairs"]
            if pair["older"] != pair["newer"] and bare(pair["older"]) == bare(pair["newer"])
        ]
    }


def _plan(work: dict[str, Any]) -> dict[str, Any]:
    return {"plan": f"{work['task']}: look at {str(work['situation'])[:200]}"}


def _steps(work: dict[str, Any]) -> dict[str, Any]:
    return {"title": "Try again with care", "trigger": "the task fails", "steps": ["Read the log", "Try once more"]}


WORK: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "claims": _claims,
    "digest": _digest,
    "contradictions": _pairs,
    "abstract_plan": _plan,
    "detailed_plan": _plan,
    "refine": _plan,
    "concrete_steps": _steps,
    "parts": lambda work: {"parts": [f"{part.strip('?. ')}?" for part in work["question"].split(" and ")][:3]},
    "check": lambda _: {"ready": True},
}


def serving(**options: Any) -> AbstractContextManager[FakeSidecar]:
    """Return a running sidecar; arguments as FakeSidecar's."""
    return running(FakeSidecar(**options))


def serve(*, port: int, mode: str) -> None:
    """Serve until it is interrupted."""
    serve_until_interrupted(FakeSidecar(port=port, mode=mode))
