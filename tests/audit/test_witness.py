"""The witness: what database and file together no longer know is missed; its own failure stops nothing."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from memories import audit
from novamem import env

pytestmark = pytest.mark.examples


class Log(BaseHTTPRequestHandler):
    """A log that keeps what it is told and answers all of it."""

    def do_POST(self):
        """Keeps a seal."""
        self.server.lines.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self._answer(f"receipt {len(self.server.lines)}")

    def do_GET(self):
        """Answers all seals of a project."""
        (project,) = parse_qs(urlsplit(self.path).query)["project"]
        self._answer("".join(json.dumps(line) + "\n" for line in self.server.lines if line["project"] == project))

    def _answer(self, text):
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        """Nothing on stderr."""


@pytest.fixture
def url():
    """The address of a log that runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Log)
    server.lines = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/seals"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(params=["folder", "bucket", "log"])
def witness(request, settings, tmp_path_factory, url):
    """Each kind of witness; the bucket is a storage of Django's on this disk."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    local = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(elsewhere)}}
    settings.STORAGES = {**settings.STORAGES, "witness": local}
    settings.AUDIT_WITNESS = {"folder": str(elsewhere), "bucket": "s3://seals/here", "log": url}[request.param]
    return request.param


@pytest.fixture
def send_seals(service):
    """Tells the witness what it has not heard of; how many seals."""
    return lambda: audit.send_seals(service, now=timezone.now())


@pytest.fixture
def roll_back(service, tamper, journal):
    """Sets database and file back to where one seal stood, as one who holds both can."""

    def run(fragment):
        tamper("DELETE FROM memories_seal WHERE project_id = %s AND number = 3", [service.project_id])
        tamper("DELETE FROM memories_fragmentevent WHERE pgh_obj_id = %s", [fragment.id])
        tamper("DELETE FROM memories_fragment WHERE id = %s", [fragment.id])
        journal.path.write_text("".join(journal.path.read_text().splitlines(keepends=True)[:2]))

    return run


def test_a_joint_rollback_is_missed_by_the_witness(service, witness, sealed, send_seals, roll_back):
    assert send_seals() == 3
    assert audit.prove(service).is_whole
    roll_back(sealed[2])
    found = audit.prove(service)
    assert found.chain.finding is None, "database and file agree"
    assert found.rows.differ == 0
    assert found.witness == audit.AuditFinding("not_as_witnessed", "seal 3, which the witness knows, is not there", 3)
    assert not found.is_whole


def test_another_history_after_a_rollback_is_known_by_the_witness(
    service, witness, sealed, send_seals, roll_back, keep, seal
):
    send_seals()
    roll_back(sealed[2])
    keep("Another past.")
    seal()
    send_seals()
    assert audit.prove(service).witness.what == "seal 3, which the witness knows, is another one"


def test_it_is_told_each_seal_once(service, witness, sealed, send_seals, keep, seal):
    assert (send_seals(), send_seals()) == (3, 0)
    keep("The river rises.")
    seal()
    assert send_seals() == 1
    assert audit.prove(service).witness is None


def test_the_receipts_of_a_log_are_kept(service, settings, url, sealed, send_seals, data_dir):
    settings.AUDIT_WITNESS = url
    send_seals()
    lines = (data_dir / "audit" / f"{service.project_id}.receipts").read_text().splitlines()
    assert [json.loads(line)["receipt"] for line in lines] == ["receipt 1", "receipt 2", "receipt 3"]


def test_a_silent_witness_stops_nothing_and_is_told_of(service, settings, sealed, send_seals, keep, seal, url):
    settings.AUDIT_WITNESS = "http://127.0.0.1:9/seals"
    assert send_seals() == 0
    keep("Life goes on.")
    assert seal() is not None
    part = Client().get("/readyz").json()["parts"]["witness"]
    assert part["state"] == "degraded"
    assert "silent since" in part["detail"]
    assert audit.prove(service).witness.kind == "witness_silent"
    settings.AUDIT_WITNESS = url
    assert send_seals() == 4
    assert Client().get("/readyz").json()["parts"]["witness"] == {"state": "ok"}


def test_the_command_tells_and_names_a_contradiction(committed, witness, sealed, roll_back, capsys):
    call_command("audit", "seal", "--project", committed.name)
    assert f"{committed.name}: 3 seals told to the witness" in capsys.readouterr().out
    roll_back(sealed[2])
    with pytest.raises(SystemExit):
        call_command("audit", "verify", "--project", committed.name)
    assert "not_as_witnessed: seal 3" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["elsewhere", "ftp://there", "./here"])
def test_a_witness_that_is_none_is_refused_at_the_start(wrong, monkeypatch):
    monkeypatch.setenv("AUDIT_WITNESS", wrong)
    with pytest.raises(ImproperlyConfigured, match="AUDIT_WITNESS"):
        env.load()
