"""How other memories are measured: what counts, what does not, and that nothing leaves the machine."""

import json
import subprocess
import sys

import pytest

from script.benches._peers.installing import REQUIREMENTS, NotInstalled, last_line, pinned
from script.benches._peers.measuring import WARMING, Turn, added, searched
from script.benches.peers import turns_of

TURNS = [Turn(id=f"D1:{n}", text=f"Ann: {n}", session="1", sequence=n, at=None) for n in range(25)]


def test_long_messages_are_told_in_pieces_at_the_place_of_the_message(tmp_path):
    long = "The river rises in spring. " * 150
    said = [("user", "Where is the mill?"), ("assistant", long), ("user", " ")]
    messages = [{"id": n, "session": 1, "role": role, "content": text} for n, (role, text) in enumerate(said, start=7)]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"messages": messages, "questions": []}))
    first, *pieces = turns_of(path)
    assert first == Turn(id="7", text="Where is the mill?", session="chat:1", sequence=0, at=None, role="user")
    assert [(turn.id, turn.sequence, turn.role) for turn in pieces] == [
        ("8#1", 1, "assistant"),
        ("8#2", 1, "assistant"),
        ("8#3", 1, "assistant"),
    ]
    assert "".join("".join(turn.text.split()) for turn in pieces) == "".join(long.split())


class Fake:
    """Keeps what it is told; each text takes it a second of embedding."""

    note = "nothing"

    def __init__(self):
        self.batches, self.asked, self.texts = [], [], 0

    def add(self, place, turns):
        self.batches.append((place, len(turns)))
        self.texts += len(turns)

    def search(self, place, question, count):
        self.asked.append(question)
        self.texts += 1
        return [turn.id for turn in TURNS[:count]]

    def embedding(self):
        return float(self.texts)


def test_adding_goes_by_batches_and_does_not_count_the_warming():
    memory = Fake()
    figures = added(memory, {"one": TURNS, "two": TURNS[:3]}, batch=20)
    assert memory.batches == [("warming", WARMING), ("one", 20), ("one", 5), ("two", 3)]
    assert (figures["turns"], figures["add_embedding_s"]) == (28, 28.0)


def test_each_question_is_asked_and_timed_once_after_the_warming():
    memory = Fake()
    figures = searched(memory, {"one": ["Who?", "When?"], "two": ["Where?"]}, count=2)
    assert memory.asked[WARMING:] == ["Who?", "When?", "Where?"]
    assert figures["found"] == {"one": [["D1:0", "D1:1"]] * 2, "two": [["D1:0", "D1:1"]]}
    assert len(figures["search_ms"]) == 3
    assert figures["search_embedding_ms"] == 1000.0


def test_every_package_of_a_peer_is_pinned():
    assert pinned(["psycopg", "mem0ai"])[0].startswith("psycopg[binary,pool]==")
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert all("==" in line for line in lines)
    with pytest.raises(NotInstalled, match="lacks nowhere"):
        pinned(["nowhere"])


def test_the_last_line_that_says_something_tells_an_error():
    assert last_line("Traceback\nValueError: no\n\n  \n") == "ValueError: no"
    assert last_line("\n") == ""


def test_another_machine_is_out_of_reach_and_this_one_is_not():
    program = """
import socket
from script.benches._peers import network
refused = network.closed()
with socket.socket() as server:
    server.bind(("127.0.0.1", 0)); server.listen()
    socket.create_connection(server.getsockname()).close()
for ask in (lambda: socket.getaddrinfo("example.org", 80), lambda: socket.create_connection(("192.0.2.1", 80))):
    try:
        ask()
    except ConnectionRefusedError:
        continue
    raise SystemExit("reached")
print(sorted(refused))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout.strip(), done.returncode) == ("['192.0.2.1', 'example.org']", 0), done.stderr
