"""Increments: what changed since, and what is gone; a chain restores what the last of it saw."""

import gzip
import json
import random
import time

import pytest
from django.utils import timezone

from conflicts.public import ClaimDraft
from memories import access, ingest, jobs, operations
from memories.backups.restoration import auxiliary_tables
from memories.models import Backup, Fragment
from memories.models.sql import execute, fetch
from memories.operations import BadOptions
from tests.backups.conftest import live


def kinds(lines):
    return [line.split(b'"kind": "')[1].split(b'"')[0].decode() for line in lines]


@pytest.fixture
def before_all(principal):
    """Makes a backup end after all that was written so far: a test is one transaction, without before and after."""

    def moved(row):
        live(principal, "UPDATE memories_backup SET upto = '1099511627776' WHERE id = %s", row.id)
        return row

    return moved


def test_only_what_changed_since(service, committed, lines):
    """On rows that are committed, each in a transaction of its own, as in earnest."""

    def keep(text):
        draft = ingest.Draft(namespace=f"{committed.name}:main", content=text)
        return ingest.store(service, ingest.prepare([draft]), now=timezone.now())[0].fragment

    def back_up(**options):
        """A backup that saw all that was written so far: what runs in another database may hold its horizon back."""
        with access.enter(service, why="test"):
            ((written,),) = fetch("SELECT pg_current_xact_id()::text", [])
        end = time.monotonic() + 60
        while time.monotonic() < end:
            wish = {"namespace": None, "options": options, "dry_run": False, "now": timezone.now()}
            ended = jobs.run(service, operations.start(service, kind="backup", **wish).id)
            with access.enter(service, why="test"):
                made = Backup.objects.get(id=ended.report["backup_id"])
            if made.upto > int(written):
                return made
        raise AssertionError("the horizon was held back for a minute")

    stays, goes = keep("The heron nests by the mill."), keep("Ada was six.")
    first = back_up()
    new = keep("Otters sleep.")
    with access.enter(service, why="test"):
        Fragment.objects.filter(id=goes.id).delete()
    told = lines(back_up(base=str(first.id)))
    assert kinds(told) == ["namespace", "fragment", "gone"]
    assert str(new.id).encode() in told[1]
    assert json.loads(told[2])["ids"] == [str(goes.id)]
    assert not any(str(stays.id).encode() in line for line in told)


@pytest.mark.long
def test_a_chain_restores_what_its_last_one_saw(
    alice,
    principal,
    store,
    fill,
    run,
    back_up,
    restore,
    wipe,
    lines,
    job,
    settings,
):

    def all_is_new(row):
        """A test is one transaction: it has no before and after."""
        with access.enter(principal, why="test"):
            Backup.objects.filter(id=row.id).update(upto=3)
        return row

    chance, rows = random.Random(3), []
    fill(8, 400)
    last = all_is_new(back_up())
    for step in range(3):
        for n in range(4):
            claim = ClaimDraft(subject=f"Ada {n}", predicate="budget", value=f"${chance.randrange(9)}")
            more = {"claim": claim} if n % 2 else {}
            rows.append(store(f"acme:{'ab'[n % 2]}", f"Step {step} has {n}.", by=alice.principal, **more))
        gone = rows.pop(chance.randrange(len(rows)))
        assert alice.client.delete(f"/api/v1/fragments/{gone.id}").status_code == 204
        settings.CAPACITY = {"all": 8, "hot": 0, "warm": 0, "cold": 0}
        run("evict", target=0.9 - step / 10)
        last = all_is_new(back_up(base=str(last.id)))
        assert job("verify", backup_id=str(last.id)).state == "succeeded"
        drilled = job("drill", backup_id=str(last.id))
        assert drilled.state == "succeeded", drilled.error
    whole = lines(back_up())
    wipe()
    restore(last)
    assert lines(back_up()) == whole


def test_an_increment_counts_what_it_holds(store, back_up, job, before_all):
    store("acme:main", "The heron nests by the mill.")
    base = before_all(back_up())
    row = back_up(base=str(base.id))
    assert row.counts == [{"bucket": "changed", "reason": "increment", "count": 0}]
    assert job("verify", backup_id=str(row.id)).state == "succeeded"


def test_a_claim_that_was_said_again_is_in_the_next_one(principal, alice, store, back_up, lines, before_all):
    claim = ClaimDraft(subject="Ada", predicate="budget", value="$750")
    row = store("acme:main", "Ada has $750.", by=alice.principal, claim=claim)
    store("acme:main", "The heron nests by the mill.")
    live(principal, "UPDATE memories_claim SET last_seen_at = last_seen_at - interval '1 day'")
    base = before_all(back_up())
    again = store("acme:main", "Ada's budget is $750.", by=alice.principal, claim=claim)
    assert again.id == row.id
    increment = [line for line in lines(back_up(base=str(base.id))) if b'"kind": "fragment"' in line]
    assert increment == [line for line in lines(back_up()) if str(row.id).encode() in line]


def test_a_chain_that_restores_as_something_else_is_found(principal, store, back_up, job, monkeypatch):
    store("acme:main", "The heron nests by the mill.")
    first = back_up()
    store("acme:main", "Otters sleep.")
    last = back_up(base=str(first.id))
    assert job("drill", backup_id=str(last.id)).state == "succeeded"
    put = auxiliary_tables.insert_auxiliary_rows

    def spoilt(*args, **kwargs):
        put(*args, **kwargs)
        execute("UPDATE memories_fragment SET content = 'Otters swim.' WHERE content = 'Otters sleep.'", [])

    monkeypatch.setattr(auxiliary_tables, "insert_auxiliary_rows", spoilt)
    ended = job("drill", backup_id=str(last.id))
    assert (ended.state, ended.error["code"]) == ("failed", "drill_failed")


def test_a_chain_with_a_lost_or_changed_link_is_refused(store, back_up, job, storage, wipe, texts):
    store("acme:main", "The heron nests by the mill.")
    first = back_up()
    store("acme:main", "Otters sleep.")
    second = back_up(base=str(first.id))
    data = (storage / first.file).read_bytes()
    wipe()
    (storage / first.file).write_bytes(gzip.compress(gzip.decompress(data)[:-30]))
    assert job("restore", backup_id=str(second.id)).error["code"] == "broken_bundle"
    (storage / first.file).unlink()
    assert job("restore", backup_id=str(second.id)).error["code"] == "file_missing"
    assert texts() == []


def test_only_a_full_backup_of_here_is_a_base(store, back_up, job):
    store("acme:main", "The heron nests by the mill.", is_anchor=True)
    row = back_up(policy="identity")
    assert job("backup", base=str(row.id)).error["type"] == "NotFound"


def test_a_base_that_covers_less_is_refused(alice, store, back_up, job, before_all):
    """What neither holds would be lost, and nothing would tell."""
    for name in ("acme:a", "acme:b"):
        store(name, "The heron nests by the mill.")
    base = before_all(back_up(namespaces=["acme:a"]))
    for more in ({}, {"namespaces": ["acme:a", "acme:b"]}):
        assert job("backup", base=str(base.id), **more).error["type"] == "BadOptions"
        answer = alice.client.post("/api/v1/backups", {"base": str(base.id), **more}, format="json")
        assert answer.status_code == 400
        assert [(each["field"], each["message"]) for each in answer.json()["errors"]] == [
            ("base", "That backup does not hold: acme:b.")
        ]
    assert back_up(base=str(base.id), namespaces=["acme:a"]).namespaces == ["acme:a"]
    whole = before_all(back_up())
    assert back_up(base=str(whole.id), namespaces=["acme:a"]).namespaces == ["acme:a"]


def test_a_base_and_what_goes_on_from_it_both_have_embeddings_or_neither(store, back_up, job):
    store("acme:a", "The heron nests by the mill.")
    bare, full = back_up(), back_up(include_embeddings=True)
    assert job("backup", base=str(bare.id), include_embeddings=True).error["type"] == "BadOptions"
    assert job("backup", base=str(full.id)).error["type"] == "BadOptions"
    assert back_up(base=str(full.id), include_embeddings=True).include_embeddings


def test_a_base_from_before_a_namespace_is_taken(store, back_up):
    store("acme:a", "The heron nests by the mill.")
    base = back_up()
    store("acme:new", "Otters sleep.")
    assert back_up(base=str(base.id)).namespaces == ["acme:a", "acme:new"]


@pytest.mark.parametrize(
    "options",
    [{"policy": "all"}, {"namespaces": "acme:main"}, {"base": "x"}, {"surprise": 1}, {"origin": "safety"}],
    ids=str,
)
def test_unfit_options_are_refused(project, options):
    with pytest.raises(BadOptions):
        jobs.check_options("backup", options)
