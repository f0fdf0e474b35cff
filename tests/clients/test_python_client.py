"""The Python client over real HTTP: against the server, and against one that fails as told."""

import asyncio
import copy
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import venv
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from novamem_client import AsyncNovaMem, NovaMem, NovaMemError, Problem, Unreachable, cli, transport

HERON = "The heron nests behind the old mill."
PACKAGE = Path(__file__).resolve().parents[2] / "clients/python"


@pytest.fixture
def key(committed, agent_of):
    """A key of the committed project."""
    verbs = ["read", "write", "admin"]
    return agent_of(committed, owner="client", verbs=verbs, ceiling="user_explicit", requests_per_minute=0).key


@pytest.fixture
def main(committed):
    """The namespace that is asked about."""
    return f"{committed.name}:main"


@pytest.fixture
def memory(web, key):
    """A client of the running server."""
    with httpx.Client(trust_env=False) as http, NovaMem(web, key, http=http) as client:
        yield client


def test_stores_finds_and_forgets(memory, main):
    kept = memory.fragments.store(namespace=main, content=HERON, tags=["birds"])
    (hit,) = memory.search(namespace=main, query="where does the heron nest?")["results"]
    assert (hit["id"], hit["content"]) == (kept["id"], HERON)
    assert HERON in memory.context(namespace=main, query="where does the heron nest?")["prompt_prefix"]
    memory.fragments.forget(kept["id"])
    with pytest.raises(Problem, match="404 not_found") as gone:
        memory.fragments.read(kept["id"])
    assert (gone.value.status, gone.value.code, bool(gone.value.request_id)) == (404, "not_found", True)


def test_what_is_wrong_is_named(memory, main):
    with pytest.raises(Problem, match="content") as wrong:
        memory.fragments.store(namespace=main, content="")
    assert [error["field"] for error in wrong.value.errors] == ["content"]


def test_a_list_is_read_page_by_page(memory, main):
    for number in range(5):
        memory.fragments.store(namespace=main, content=f"Heron number {number} nests here.")
    rows = list(memory.fragments.all(namespace=main, limit=2, status=["active", "archived"]))
    assert [row["content"][13] for row in rows] == list("43210")


def test_a_revision_guards_a_change(memory, main):
    kept = memory.fragments.store(namespace=main, content=HERON)
    memory.fragments.change(kept["id"], if_match='"1"', tags=["birds"])
    with pytest.raises(Problem, match="precondition_failed"):
        memory.fragments.change(kept["id"], if_match='"1"', tags=["owls"])


def test_one_key_stores_once(memory, main):
    first, second = (memory.fragments.store(namespace=main, content=HERON, idempotency_key="k1") for _ in range(2))
    assert first["id"] == second["id"]
    with pytest.raises(Problem, match="422"):
        memory.fragments.store(namespace=main, content="Another text.", idempotency_key="k1")


def test_a_user_is_kept_apart_and_named_in_addresses(web, key, memory, main):
    name = "Zoë/ünïcode : *"
    with httpx.Client(trust_env=False) as http:
        zoe = NovaMem(web, key, user=name, http=http)
        zoe.fragments.store(namespace=main, content=HERON)
        assert len(list(zoe.fragments.all(namespace=main))) == 1
    assert list(memory.fragments.all(namespace=main)) == []
    assert [one["content"] for one in memory.users.export(name)["memories"]] == [HERON]
    assert memory.users.erase(name, expected_count=1)["count"] == 1


def test_waits_for_answers_beside_each_other(web, key, main):
    async def ask():
        async with httpx.AsyncClient(trust_env=False) as http, AsyncNovaMem(web, key, http=http) as memory:
            texts = [f"Heron number {number} nests here." for number in range(4)]
            await asyncio.gather(*(memory.fragments.store(namespace=main, content=text) for text in texts))
            found = [row["content"] async for row in memory.fragments.all(namespace=main, limit=3)]
            with pytest.raises(Problem, match="not_found"):
                await memory.fragments.read("11111111-1111-4111-8111-111111111111")
            return found

    with ThreadPoolExecutor(1) as pool:  # the browser's tests leave an event loop running in this thread
        assert len(pool.submit(asyncio.run, ask()).result()) == 4


class Failing(ThreadingHTTPServer):
    """Answers with what it is told, one after the other, and keeps what it was asked."""

    def __init__(self, *told):
        self.told, self.asked = list(told), []
        super().__init__(("127.0.0.1", 0), Answers)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Answers(BaseHTTPRequestHandler):
    """One answer; a status of 0 hangs up instead."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.path, dict(self.headers)))
        status, headers, body = self.server.told.pop(0)
        if not status:
            self.connection.close()
            return
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PATCH = do_POST

    def log_message(self, *_):
        """Nobody reads it."""


@pytest.fixture
def failing():
    """Starts a server that fails as told."""
    running = []

    def start(*told):
        server = Failing(*told)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture
def waits(monkeypatch):
    """How long it would have slept."""
    found = []
    monkeypatch.setattr(transport.time, "sleep", found.append)
    return found


BUSY = {"code": "busy", "detail": "Later."}
FINE = (200, {}, {"id": "x", "results": []})


def client_of(server, **more):
    return NovaMem(server.url, "k", http=httpx.Client(trust_env=False), **more)


def test_what_may_be_repeated_is_tried_again_under_the_same_key(failing, waits):
    server = failing((503, {"Retry-After": "7"}, BUSY), (0, {}, None), (502, {}, BUSY), FINE)
    assert client_of(server).fragments.store(namespace="a:b", content=HERON)["id"] == "x"
    keys = {headers["Idempotency-Key"] for _, headers in server.asked}
    assert (len(server.asked), len(keys), waits[0]) == (4, 1, 7.0)
    assert all(0 < wait <= 2 for wait in waits[1:])


def test_it_gives_up_and_says_why(failing, waits):
    server = failing(*[(503, {"Retry-After": "1"}, BUSY)] * 3)
    with pytest.raises(Problem, match="503 busy: Later") as told:
        client_of(server, retries=2).search(namespace="a:b", query="q")
    assert (told.value.retry_after, waits) == (1.0, [1.0, 1.0])
    server = failing((503, {"Retry-After": "3600"}, BUSY))
    with pytest.raises(Problem, match="busy"):
        client_of(server).search(namespace="a:b", query="q")
    assert len(server.asked) == 1


def test_what_may_not_be_repeated_is_sent_once(failing, waits):
    server = failing((0, {}, None))
    with pytest.raises(Unreachable, match="PATCH /api/v1/fragments/x"):
        client_of(server).fragments.change("x", tags=[])
    assert (len(server.asked), waits) == (1, [])
    server = failing((503, {"Retry-After": "0"}, BUSY), FINE)  # refused before anything was done
    client_of(server).fragments.change("x", tags=[])
    assert len(server.asked) == 2


def test_a_refusal_is_not_repeated(failing, waits):
    for status, body in ((400, {"code": "validation"}), (500, "no object")):
        server = failing((status, {}, body))
        with pytest.raises(Problem, match=str(status)):
            client_of(server).search(namespace="a:b", query="q")
        assert len(server.asked) == 1


def test_who_is_not_there_is_unreachable(waits):
    with pytest.raises(Unreachable, match="ConnectError"):
        NovaMem("http://127.0.0.1:9", "k", http=httpx.Client(trust_env=False)).stats()
    assert len(waits) == 3


def test_what_meets_its_own_first_attempt_waits_for_it(failing, waits):
    server = failing((0, {}, None), (409, {"Retry-After": "1"}, {"code": "in_flight"}), FINE)
    assert client_of(server).fragments.store(namespace="a:b", content=HERON)["id"] == "x"
    assert waits[1:] == [1.0]
    server = failing(*[(409, {}, {"code": "in_flight"})] * 2)
    with pytest.raises(Problem, match="in_flight") as told:
        client_of(server, retries=1).fragments.store(namespace="a:b", content=HERON)
    assert told.value.idempotency_key == server.asked[1][1]["Idempotency-Key"]


def test_a_redirect_is_told_and_not_followed(failing, waits):
    server = failing((301, {"Location": "https://there.example/"}, None))
    with pytest.raises(Problem, match="301 moved: .* https://there.example/"):
        client_of(server).fragments.store(namespace="a:b", content=HERON)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind"),
    [
        (503, {"Retry-After": "soon"}, BUSY, Problem),
        (503, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, BUSY, Problem),
        (400, {}, {"errors": ["boom"]}, Problem),
        (400, {}, {"errors": {"a": ["b"]}}, Problem),
        (200, {"Content-Encoding": "gzip"}, {}, Unreachable),
        (200, {}, "<html>", NovaMemError),
        (200, {}, None, NovaMemError),
    ],
)
def test_an_odd_answer_is_an_error_of_the_client(failing, waits, status, headers, body, kind):
    server = failing(*[(status, headers, body)] * 4)
    with pytest.raises(kind), client_of(server) as memory:
        list(memory.fragments.all(namespace="a:b"))


def test_what_can_not_be_sent_is_told_before(failing):
    server = failing()
    memory = client_of(server)
    for body in ({"content": "\ud800"}, {"content": "x", "importance": float("nan")}, {"content": "x", "tags": {1, 2}}):
        with pytest.raises(NovaMemError, match="can't be sent"):
            memory.fragments.store(namespace="a:b", **body)
    with pytest.raises(NovaMemError, match="can't be sent"):
        memory.fragments.read("\ud800")
    assert server.asked == []


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://127.0.0.1:1", "nova_SECRET\nfoo"),
        ("http://127.0.0.1:1", "nova_SECRET…"),
        ("http://127.0.0.1:1", ""),
        ("127.0.0.1:8000", "nova_SECRET"),
        ("http://[::1", "nova_SECRET"),
        ("http://h:abc", "nova_SECRET"),
        ("ftp://h", "nova_SECRET"),
    ],
)
def test_an_address_or_a_key_that_can_not_be_right_is_told_without_it(url, key):
    with pytest.raises(NovaMemError) as told:
        NovaMem(url, key)
    assert "SECRET" not in str(told.value)


def test_a_key_read_from_a_file_has_no_line_end(failing):
    server = failing(FINE)
    NovaMem(f" {server.url}/ ", "nova_SECRET\n", http=httpx.Client(trust_env=False)).stats()
    assert server.asked[0][1]["Authorization"] == "Bearer nova_SECRET"
    assert "SECRET" not in repr(transport.Connection.of(server.url, "nova_SECRET", None))


def test_a_problem_travels_to_other_processes():
    problem = Problem(400, {"code": "c", "errors": [{"field": "f", "message": "m"}]}, retry_after=2.0)
    for copied in (pickle.loads(pickle.dumps(problem)), copy.copy(problem)):
        assert (str(copied), copied.retry_after, copied.errors) == (str(problem), 2.0, problem.errors)


def test_places_are_escaped(failing):
    server = failing(FINE)
    client_of(server).namespaces.fork("a:b/../c?d", into="a:c")
    assert server.asked[0][0] == "/api/v1/namespaces/a%3Ab%2F..%2Fc%3Fd/fork"


@pytest.fixture
def run(web, key, main, capsys, monkeypatch):
    """Runs the command; its exit code and what it printed."""
    for name, value in (("URL", web), ("KEY", key), ("NAMESPACE", main), ("USER", "")):
        monkeypatch.setenv(f"NOVAMEM_{name}", value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def start(*arguments):
        code = cli.main(arguments)
        out, err = capsys.readouterr()
        return code, out.strip() or err.strip()

    return start


def test_the_command_remembers_and_finds(run):
    code, told = run("remember", HERON, "--tag", "birds", "--claim", "heron", "nest", "mill")
    memory_id, status = told.split()
    assert (code, status) == (0, "active")
    assert HERON in run("search", "where does the heron nest?")[1]
    assert HERON in run("context", "where does the heron nest?")[1]
    assert HERON in run("list")[1]
    assert json.loads(run("--json", "show", memory_id)[1])["claim"]["value"] == "mill"
    assert run("--user", "ann", "list")[1] == "nothing"
    assert run("forget", memory_id) == (0, f"{memory_id} forgotten")
    assert run("search", "where does the heron nest?")[1] == "nothing"


def test_the_command_calls_any_operation(run, main):
    for number in range(3):
        run("remember", f"Heron number {number} nests here.")
    assert len(json.loads(run("call", "fragments.list", f"namespace={main}", "limit=1", "--all")[1])) == 3
    assert json.loads(run("call", "stats")[1])
    assert json.loads(run("call", "search", f"namespace={main}", "query=1998", "top_k:=1", "floor:=0")[1])["results"]
    assert len(json.loads(run("call", "fragments.all", f"namespace={main}")[1])) == 3
    for wrong in (
        ["fragments.colour"],
        ["_transport.request"],
        ["close"],
        ["stats", "--all"],
        ["fragments.read"],
        ["stats", "word"],
        ["stats", "limit:=x"],
        [],
    ):
        assert run("call", *wrong)[0] == 2, wrong


def test_the_command_shows_texts_of_others_as_text(run):
    run("remember", "evil \x1b]0;pwned\x07\x1b[2J text\nsecond line")
    (line,) = run("list")[1].splitlines()
    assert "second line" in line
    assert "\x1b" not in line + run("search", "evil text")[1]


def test_the_command_counts_from_one(run):
    for number in ("0", "-1", "x"):
        with pytest.raises(SystemExit) as ended:
            cli.main(["list", "--limit", number])
        assert ended.value.code == 2
    assert run("list", "--limit", "1") == (0, "nothing")
    assert run("remember", "bad\udcff")[0] == run("remember")[0] == run("show", "a", "b")[0] == run("list", "x")[0] == 2


def test_the_command_writes_to_whoever_listens(web, key, main):
    command = [sys.executable, "-m", "novamem_client.cli", "--url", web, "--key", key, "--namespace", main]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(PACKAGE), "NO_PROXY": "127.0.0.1"}
    environment["PYTHONIOENCODING"] = "ascii"

    def ended(*more):
        return subprocess.run([*command, *more], env=environment, capture_output=True, check=False)

    assert ended("remember", "Zoë's heron.").returncode == 0
    assert ended("list").stdout.decode("ascii").rstrip().endswith("Zo\\xeb's heron.")
    closed = subprocess.run(
        ["sh", "-c", '"$@" | true', "sh", *command, "list"], env=environment, capture_output=True, check=False
    )
    assert closed.stderr == b""


@pytest.mark.long
def test_the_command_says_what_is_wrong(run, monkeypatch):
    code, told = run("show", "11111111-1111-4111-8111-111111111111")
    assert (code, "404 not_found" in told) == (1, True)
    monkeypatch.setenv("NOVAMEM_NAMESPACE", "")
    assert run("list") == (2, "novamem: name a namespace by --namespace or NOVAMEM_NAMESPACE")
    monkeypatch.setenv("NOVAMEM_KEY", "")
    assert run("list")[0] == 2
    monkeypatch.setenv("NOVAMEM_KEY", "nova_SECRET\nfoo")
    code, told = run("list")
    assert (code, "SECRET" in told) == (1, False)


@pytest.mark.long
def test_it_is_installed_by_pip(web, key, main, tmp_path):
    venv.create(tmp_path / "venv", system_site_packages=True, with_pip=False)
    python = tmp_path / "venv/bin/python"
    site = next((tmp_path / "venv/lib").glob("python*/site-packages"))
    (site / "beside.pth").write_text(f"{Path(httpx.__file__).parents[1]}\n")  # what it needs, from here
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-build-isolation"]
    shutil.copytree(PACKAGE, tmp_path / "package")  # building leaves files behind
    subprocess.run([*pip, tmp_path / "package"], check=True, cwd=tmp_path)
    environment = {"NOVAMEM_URL": web, "NOVAMEM_KEY": key, "NOVAMEM_NAMESPACE": main, "NO_PROXY": "127.0.0.1"}
    ran = subprocess.run(
        [tmp_path / "venv/bin/novamem", "remember", HERON], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.split()[-1:]) == (0, ["active"]), ran.stderr
