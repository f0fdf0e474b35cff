"""What a client of the bench takes for acknowledged."""

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from script.benches._chaos import workload
from script.benches._chaos.ledger import Ledger


@contextmanager
def _answering(seconds):
    """A server whose chats take so long."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/chat/completions"):
                time.sleep(seconds)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(("seconds", "kept"), [(0, 1), (0.6, 0)])
def test_a_chat_whose_answer_ended_before_it_was_written_down_is_not_acknowledged(seconds, kept, monkeypatch):
    monkeypatch.setattr(workload, "WRITTEN", 0.5)
    ledger, keys = Ledger(), dict.fromkeys(("writer", "rival", "reviewer"), "key")
    with (
        _answering(seconds) as url,
        workload.Client(SimpleNamespace(url=url, keys=keys), ledger, patience=10.0, doubt=0.0) as client,
    ):
        client.chatted()
    assert (len(ledger.facts), ledger.acknowledged["chat"]) == (kept, kept)
