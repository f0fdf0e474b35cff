"""Pushing to another instance: a whole server of its own, real HTTP; what changed, what was forgotten, what is lost."""

import json
import socket
import subprocess
import sys
from contextlib import ExitStack

import httpx2
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memories import access, audit, backups, erasure, ingest
from memories.backups import push
from memories.models import Backup
from memories.providers.fake_endpoint import FakeEndpoint
from memories.providers.fake_servers import running
from novamem import env
from tests.novamem.conftest import LOCAL

pytestmark = pytest.mark.long


@pytest.fixture
def store_memory(service, committed):
    """Stores a memory."""

    def keep(content, **more):
        if "claim" in more:
            more["claims"] = [more.pop("claim")]
        draft = ingest.Draft(namespace=f"{committed.name}:main", content=content, **more)
        (kept,) = ingest.store(service, ingest.prepare([draft]), now=timezone.now())
        return kept.fragment

    return keep


@pytest.fixture
def key_there(python, data_dir, committed):
    """Issues a key on the other instance."""

    def issue(verbs="read,admin"):
        manage = ["-m", "novamem.embedded", sys.executable, "manage.py", "apikey", "create", "--json"]
        told = python(
            *(*manage, "--project", committed.name, "--verbs", verbs, "--rate", "0"),
            settings={"NOVAMEM_DATA_DIR": str(data_dir), "EMBEDDER": "fake"},
            stderr=subprocess.PIPE,
            cwd=env.ROOT,
        )
        out, errors = told.communicate(timeout=200)
        assert told.returncode == 0, errors
        return json.loads(out)["key"]

    return issue


def test_a_project_is_pushed_to_another_instance(
    serve, storage, committed, service, store_memory, key_there, capsys, monkeypatch
):
    monkeypatch.setenv("TRUSTED_SIGNERS", audit.fingerprint())
    first = store_memory("The heron nests by the mill.", source="tool_output", extra={"n": 1.5})
    gone = store_memory("This is to be forgotten.")
    with serve() as there:
        key = key_there()
        headers = {"Authorization": f"Bearer {key}"}

        words = ("--project", committed.name, "--to", there.url)

        def sync():
            call_command("sync", *words, "--key", key, "--patience", "30", "--json")
            return json.loads(capsys.readouterr().out)

        def held():
            answer = httpx2.get(f"{there.url}/api/v1/fragments?status=all", headers=headers, trust_env=False)
            return {row["id"]: row for row in answer.json()["results"]}

        assert sync()["insert"] == 2
        (row,) = [row for row in held().values() if row["id"] == str(first.id)]
        assert (row["content"], row["extra"], row["provenance"]["authority"]) == (first.content, {"n": 1.5}, 4)
        assert row["created_at"] == first.created_at.isoformat().replace("+00:00", "Z")

        erasure.forget(service, gone.id, now=timezone.now())
        second = store_memory("Otters sleep a lot.")
        told = sync()
        assert (told["insert"], told["unchanged"], told["forgotten"]) == (1, 1, 1)
        assert held().keys() == {str(first.id), str(second.id)}
        with access.enter(service, why="test"):
            chain = list(Backup.objects.within(committed.id).order_by("created_at"))
        assert [each.base_id for each in chain] == [None, chain[0].id]
        assert {each.origin for each in chain} == {"sync"}

        # A push that was broken off before it was sent: the next one goes on from what arrived.
        remote = backups.push.Remote(there.url, key, patience=5)
        assert backups.push.push_options(service, remote)["base"] == str(chain[1].id)
        httpx2.delete(f"{there.url}/api/v1/namespaces/{committed.name}:main", headers=headers, trust_env=False)
        for row in httpx2.get(f"{there.url}/api/v1/backups", headers=headers, trust_env=False).json()["results"]:
            httpx2.delete(f"{there.url}/api/v1/backups/{row['id']}", headers=headers, trust_env=False)
        assert "base" not in backups.push.push_options(service, remote)

        with pytest.raises(CommandError, match="not_permitted"):
            call_command("sync", *words, "--key", key_there("read"))
        with pytest.raises(CommandError, match="unauthenticated"):
            call_command("sync", *words, "--key", "nova_nothing")


@pytest.fixture
def port():
    """One on which nobody listens."""
    with socket.create_server((LOCAL, 0)) as probe:
        return probe.getsockname()[1]


def test_it_is_asked_again_until_it_answers(port):
    waits = []

    def notice(wait):
        waits.append(wait)
        if len(waits) == 2:
            stack.enter_context(running(FakeEndpoint(port=port)))

    with ExitStack() as stack, pytest.raises(push.PushRefused, match="HTTP 501"):
        backups.push.Remote(f"http://{LOCAL}:{port}", "nova_x", notice=notice, pause=0.05).taken()
    assert len(waits) == 2
    assert "trying again" in waits[0]


def test_patience_ends(port):
    with pytest.raises(push.Unreachable, match="does not answer"):
        backups.push.Remote(f"http://{LOCAL}:{port}", "nova_x", patience=0.2, pause=0.05).taken()


def test_what_is_no_address_is_refused():
    with pytest.raises(push.PushRefused):
        backups.push.Remote("http://[", "nova_x", patience=0.2).taken()
